"""Options that say how data files are read, shared by all commands."""

from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Annotated, Any, Self

import typer

from widemargin._runtime.files import is_stream

PANEL = "Reading files"
FORMATS = ".csv, .tsv, .parquet, .arrow, .svm or .npz"

DataArgument = Annotated[
    Path,
    typer.Argument(
        help=f"Data file: {FORMATS}, text also as .gz, .bz2 or .xz; - is standard input.",
        show_default=False,
    ),
]
DataArguments = Annotated[
    list[Path],
    typer.Argument(
        help=f"Data file: {FORMATS}, text also as .gz, .bz2 or .xz; - is standard input. Several "
        "files need --stream.",
        show_default=False,
    ),
]
FormatOption = Annotated[
    str | None,
    typer.Option(
        "--format",
        help="Format of a file with another suffix: csv, tsv, parquet, arrow, svmlight or npz. "
        "Standard input is csv without it.",
        rich_help_panel=PANEL,
    ),
]
HeaderOption = Annotated[
    bool | None,
    typer.Option(
        "--header/--no-header",
        help="Whether the first line of a CSV file names the columns; found by itself.",
        rich_help_panel=PANEL,
        show_default=False,
    ),
]
SeparatorOption = Annotated[
    str | None,
    typer.Option(
        "--separator",
        help="Character between the values of a CSV file, or tab; found by itself.",
        rich_help_panel=PANEL,
    ),
]
EncodingOption = Annotated[
    str | None,
    typer.Option(
        "--encoding",
        help="Encoding of a CSV file, such as utf-8 or cp1252; found by itself.",
        rich_help_panel=PANEL,
    ),
]
DecimalOption = Annotated[
    str | None,
    typer.Option(
        "--decimal",
        help="Decimal sign of a CSV file: . or , (found by itself).",
        rich_help_panel=PANEL,
    ),
]
IndexBaseOption = Annotated[
    int | None,
    typer.Option(
        "--index-base",
        min=0,
        max=1,
        help="Number of the first column of an svmlight file: 0 or 1.",
        rich_help_panel=PANEL,
    ),
]
FeaturesOption = Annotated[
    int | None,
    typer.Option(
        "--n-features",
        min=1,
        help="Number of columns of an svmlight file; by default its largest column number.",
        rich_help_panel=PANEL,
    ),
]


@dataclass(frozen=True)
class FileOptions:
    """How a data file is to be read; None is found from the file."""

    format: str | None = None
    separator: str | None = None
    header: bool | None = None
    encoding: str | None = None
    decimal: str | None = None
    index_base: int | None = None

    def of(self, path: Path) -> Self:
        """The same options, with the format of standard input, which has no suffix."""
        return replace(self, format="csv") if is_stream(path) and self.format is None else self

    def arguments(self) -> dict[str, Any]:
        """The arguments of `read_table`."""
        return asdict(self)

    def reading(self) -> Any:
        """As a search reads: dates stay dates, single words among numbers are missing."""
        from widemargin.tables.raw import Reading

        parts = (self.separator, self.header, self.encoding, self.decimal)
        return Reading(*parts, dates=True, mostly=True)

    def of_stream(self) -> dict[str, Any]:
        """The arguments of `stream`, which reads UTF-8 text with decimal points."""
        for name in ("separator", "encoding", "decimal"):
            if (value := getattr(self, name)) is not None:
                raise ValueError(
                    f"--{name} {value} is not an option of streams, which read UTF-8 text with "
                    "decimal points; convert the file, or leave out --stream"
                )
        return {
            "format": self.format,
            "header": self.header is not False,
            "index_base": self.index_base,
        }
