"""Examples as models see them: rows, labels, standardisation, packing."""
