"""The columns that a model with an encoder needs, and which of them it reads as text."""

from typing import Any

from sklearn.compose import ColumnTransformer
from sklearn.pipeline import Pipeline

from widemargin.tables.encoder import TableEncoder


def text_columns(model: Any) -> list[str] | None:
    """Columns that a model with an encoder reads as text; None if it has no encoder.

    Pass the result to `read_table` when reading data for prediction.  A column then keeps its type
    even if the new file alone suggests another.

    Parameters
    ----------
    model : estimator
        A fitted `TableEncoder`, a pipeline that begins with one, or a model with one of its own,
        such as `TabularClassifier`.  In older model files it is a `ColumnTransformer`.

    Examples
    --------
    >>> import pandas
    >>> from widemargin.tables import TableEncoder, text_columns
    >>> X = pandas.DataFrame({"age": [20.0, 30.0], "town": ["Bern", "Sion"]})
    >>> text_columns(TableEncoder().fit(X))
    ['town']
    """
    encoder = _encoder_of(model)
    if isinstance(encoder, TableEncoder):
        return [c["name"] for c in encoder.columns_ if c["kind"] in ("category", "boolean")]
    if isinstance(encoder, ColumnTransformer):
        return [c for name, _, columns in encoder.transformers if name == "text" for c in columns]
    return None


def needed_columns(model: Any) -> list[str]:
    """Columns without which the encoder at the beginning of `model` cannot work."""
    encoder = _encoder_of(model)
    if isinstance(encoder, TableEncoder):
        return [column["name"] for column in encoder.columns_ if column["outputs"]]
    return [name for _, _, columns in encoder.transformers for name in columns]


def date_columns(model: Any) -> list[str]:
    """Columns that the encoder at the beginning of `model` takes for dates."""
    encoder = _encoder_of(model)
    columns = encoder.columns_ if isinstance(encoder, TableEncoder) else ()
    return [column["name"] for column in columns if column["kind"] == "date"]


def _encoder_of(model: Any) -> Any:
    while isinstance(model, Pipeline):
        model = model[0]
    return getattr(model, "encoder_", model)
