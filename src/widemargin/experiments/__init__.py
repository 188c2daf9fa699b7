"""The experiments of the documents, and the demo."""
