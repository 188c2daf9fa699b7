"""`widemargin convert`: model files of widemargin and of LIBSVM, one from the other."""

from pathlib import Path
from typing import Annotated, Any

import typer

from widemargin.cli.console import JsonOption, check_output, print_facts, print_json

SAFETENSORS = (".safetensors",)
LIBSVM = (".model", ".libsvm", ".txt")
FIRST_LINE = b"svm_type"


def convert(
    model: Annotated[
        Path, typer.Argument(help="Model file of widemargin or of LIBSVM.", show_default=False)
    ],
    output: Annotated[
        Path,
        typer.Argument(
            help="File to write: .safetensors for widemargin, .model or .libsvm for LIBSVM.",
            show_default=False,
        ),
    ],
    classes: Annotated[
        str | None,
        typer.Option(
            help="Names of the classes of a LIBSVM file, separated by commas, in the order of its "
            "labels."
        ),
    ] = None,
    json: JsonOption = False,
) -> None:
    """Convert a model file to or from the format of LIBSVM.

    LIBSVM's files hold SVC, NuSVC, SVR, NuSVR and OneClassSVM without scaling (train with --set
    scaling=none) on tables of numbers.
    """
    from widemargin.persistence import load, load_libsvm, save

    check_output(output, model)
    suffix = output.suffix.lower()
    if suffix not in (*SAFETENSORS, *LIBSVM):
        raise ValueError(
            f"{output}: unknown suffix; use .safetensors for widemargin, .model for LIBSVM"
        )
    with open(model, "rb") as file:
        foreign = file.read(len(FIRST_LINE)) == FIRST_LINE
    if classes is not None and not foreign:
        raise ValueError(f"--classes {classes}: the classes are in the file; leave out --classes")
    names: Any = None if classes is None else [name.strip() for name in classes.split(",")]
    fitted = load_libsvm(model, classes=names) if foreign else load(model)
    if suffix in SAFETENSORS:
        save(fitted, output)
    else:
        _save_libsvm(fitted, output)
    last = fitted[-1] if hasattr(fitted, "steps") else fitted
    facts = {
        "model": type(last).__name__,
        "from": "LIBSVM" if foreign else "widemargin",
        "to": "widemargin" if suffix in SAFETENSORS else "LIBSVM",
        "file": output,
    }
    if json:
        print_json(facts)
    else:
        print_facts(facts)


def _save_libsvm(fitted: Any, output: Path) -> None:
    from widemargin.persistence import save_libsvm

    try:
        save_libsvm(fitted, output)
    except TypeError as error:  # of other models, which have no such file
        raise ValueError(
            f"LIBSVM's files cannot hold a {type(fitted).__name__}; train with --model svc, "
            "nu-svc, svr or nu-svr and --set scaling=none on a table of numbers"
        ) from error
