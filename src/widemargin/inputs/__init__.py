"""Examples as models see them: rows, labels, scaling, packing, threads."""
