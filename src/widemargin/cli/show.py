"""`widemargin info`: contents of a model file, models and their parameters, packages."""

import platform
from importlib import metadata
from pathlib import Path
from typing import Annotated, Any

import typer

from widemargin.cli.console import JsonOption, listing, number, out, print_facts, print_json
from widemargin.cli.data import INDEX_BASE_ATTRIBUTE

DEPENDENCIES = (
    *("numpy", "scipy", "scikit-learn", "safetensors"),
    *("typer", "rich", "pyarrow", "pandas", "matplotlib"),
)
RUN_FACTS = (  # of the record that `train` keeps
    *("task", "target", "file", "rows", "train_rows", "test_rows", "stop_reason", "command"),
)
# How `info` calls the fitted attributes that tell about the training.
TRAINING_ATTRIBUTES = {
    "epochs": "n_iter_",
    "best_epoch": "best_iter_",
    "stop_reason": "stop_reason_",
    "converged": "converged_",
    "updates": "n_updates_",
    "geometric_margin": "geometric_margin_",
    "duality_gap": "duality_gap_",
    "kkt_violation": "kkt_violation_",
    "seconds": "fit_time_",
}


def info(
    what: Annotated[
        str | None,
        typer.Argument(
            help="A model file, or the name of a model; without it versions and models.",
            metavar="[MODEL]",
            show_default=False,
        ),
    ] = None,
    json: JsonOption = False,
) -> None:
    """Show the contents of a model file, the parameters of a model, or versions and models."""
    from widemargin.cli.models import MODELS

    if what is None:
        _show_all(json)
    elif what in MODELS and not Path(what).is_file():
        _show_parameters(what, json)
    else:
        _show_file(Path(what), json)


def _show_all(json: bool) -> None:
    from widemargin.cli.models import MODELS

    models = {name: str(cls.__doc__).splitlines()[0] for name, cls in MODELS.items()}
    result = _versions()
    if json:
        print_json(result | {"models": models})
        return
    _print_versions(result)
    out.print()
    print_facts(models, "Models")


def _show_parameters(name: str, json: bool) -> None:
    from widemargin.cli.settings import make_model

    parameters = make_model(name, [], None).get_params(deep=False)
    if json:
        print_json(parameters)
    else:
        print_facts({key: one_line(value) for key, value in parameters.items()})


def _show_file(model: Path, json: bool) -> None:
    """The contents of a model file."""
    from widemargin.easy.saved import record_of
    from widemargin.persistence import describe, load

    if not model.exists():
        raise FileNotFoundError(
            f"{model}: there is no such file, and no model of this name; widemargin info lists "
            "the models"
        )
    facts, fitted = describe(model), load(model)
    steps = [step for _, step in getattr(fitted, "steps", [("model", fitted)])]
    last = steps[-1]
    record = {
        name: getattr(last, attribute, None) for name, attribute in TRAINING_ATTRIBUTES.items()
    }
    if getattr(last, "kkt_violation_", None) is not None:  # an exact machine, which has no epochs
        record = {"steps": record.pop("epochs")} | record
    run = record_of(fitted)
    record["history_length"] = len(getattr(last, "history_", ()))
    record["support_vectors"] = len(last.support_) if hasattr(last, "support_") else None
    result = {
        "file": str(model),
        "file_size": facts["file_size"],
        "class": facts["class"],
        "steps": [type(step).__name__ for step in steps],
        "versions": {key: facts[key] for key in ("format", "widemargin", "sklearn", "numpy")},
        "parameters": last.get_params(deep=False),
        "classes": getattr(last, "classes_", None),
        "n_features": getattr(fitted, "n_features_in_", None),
        "feature_names": getattr(fitted, "feature_names_in_", None),
        "index_base": getattr(fitted, INDEX_BASE_ATTRIBUTE, None),
        "training": record,
        "run": None if run is None else {name: getattr(run, name) for name in RUN_FACTS},
    }
    if json:
        print_json(result)
    else:
        _print_model(result)


def _print_model(result: dict[str, Any]) -> None:
    classes, names, record = result["classes"], result["feature_names"], result["training"]
    versions = result["versions"]
    print_facts(
        {
            "file": f"{result['file']} ({result['file_size']:,} bytes)",
            "class": result["class"],
            "steps": " → ".join(result["steps"]) if len(result["steps"]) > 1 else None,
            "written by": f"widemargin {versions['widemargin']}, scikit-learn "
            f"{versions['sklearn']}, numpy {versions['numpy']} (format {versions['format']})",
            "classes": None if classes is None else listing(classes),
            "features": result["n_features"],
            "names": None if names is None else listing(names),
            "columns start at": result["index_base"],
        }
    )
    if result["run"] is not None:
        out.print()
        print_facts(result["run"], "Run")
    out.print()
    print_facts({k: one_line(v) for k, v in result["parameters"].items()}, "Parameters")
    if record["stop_reason"] is not None:
        out.print()
        print_facts(
            {
                name.replace("_", " "): number(value) if isinstance(value, float) else value
                for name, value in record.items()
                if name != "updates" or value  # 0: this model does not count them
            },
            "Training",
        )


def one_line(value: Any) -> str:
    """The value as Python writes it, without line breaks."""
    return " ".join(repr(value).split("\n"))


def _print_version(wanted: bool) -> None:
    if wanted:
        from widemargin import __version__

        typer.echo(f"widemargin {__version__}")
        raise typer.Exit


def version(
    show: Annotated[
        bool,
        typer.Option(
            "--version",
            help="Show the version and exit.",
            callback=_print_version,
            is_eager=True,
        ),
    ] = False,
) -> None:
    """Large-margin learning on large data."""


def _versions() -> dict[str, Any]:
    """Versions of packages and features of the processor."""
    import joblib
    import scipy.linalg  # noqa: F401  loads BLAS
    from threadpoolctl import threadpool_info

    from widemargin import __version__, _core

    return {
        "widemargin": __version__,
        "python": platform.python_version(),
        "platform": platform.platform(),
        "dependencies": {name: _version(name) for name in DEPENDENCIES},
        "cpu_features": _core.cpu_features(),
        "instruction_set": _core.isa,
        "openmp": _core.openmp,
        "threads": joblib.cpu_count(),
        "blas": [
            {key: library.get(key) for key in ("internal_api", "version", "num_threads")}
            for library in threadpool_info()
            if library["user_api"] == "blas"
        ],
    }


def _version(package: str) -> str | None:
    try:
        return metadata.version(package)
    except metadata.PackageNotFoundError:
        return None


def _print_versions(result: dict[str, Any]) -> None:
    print_facts({name: result[name] for name in ("widemargin", "python", "platform")})
    out.print()
    print_facts(
        {name: found or "not installed" for name, found in result["dependencies"].items()},
        "Packages",
    )
    blas = [
        f"{b['internal_api']} {b['version']}, threads: {b['num_threads']}" for b in result["blas"]
    ]
    out.print()
    print_facts(
        {
            "features": " ".join(result["cpu_features"]),
            "used": result["instruction_set"],
            "threads": f"{result['threads']} (OpenMP: {'yes' if result['openmp'] else 'no'})",
            "BLAS": "; ".join(dict.fromkeys(blas)),
        },
        "Processor",
    )
