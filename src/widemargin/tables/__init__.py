"""Data files in, predictions out: what the command line reads and writes.

pyarrow reads CSV and Parquet files, scikit-learn reads svmlight files, and NumPy reads archives
with pickle switched off.  A file that cannot be used raises a `DataFileError`, which names the
file, the place in it and the remedy.  `TableEncoder` turns a mixed table into numbers.
"""

from widemargin.tables.encoder import TableEncoder
from widemargin.tables.errors import ArgumentError, DataFileError
from widemargin.tables.models import text_columns
from widemargin.tables.predictions import write_predictions
from widemargin.tables.readers import read_table
from widemargin.tables.table import Table

__all__ = [
    "ArgumentError",
    "DataFileError",
    "Table",
    "TableEncoder",
    "read_table",
    "text_columns",
    "write_predictions",
]
