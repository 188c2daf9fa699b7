"""Data files in, predictions out: what the command line reads and writes.

CSV and Parquet files are read by pyarrow, svmlight files by scikit-learn, NumPy archives without
pickle.  Whatever is wrong with a file is a `DataFileError` that names the file, the place and
the remedy.  `table_encoder` turns a mixed table into numbers.
"""

from widemargin.tables.encoder import TextColumns, table_encoder, text_columns
from widemargin.tables.predictions import write_predictions
from widemargin.tables.readers import read_table
from widemargin.tables.table import DataFileError, Table

__all__ = [
    "DataFileError",
    "Table",
    "TextColumns",
    "read_table",
    "table_encoder",
    "text_columns",
    "write_predictions",
]
