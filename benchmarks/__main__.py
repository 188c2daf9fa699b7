"""`python -m benchmarks`: the short benchmark, an epoch of a perceptron or of the online SVM.

The long benchmarks have their own options: `python -m benchmarks.kernel_svm`, `.linear_svm`,
`.mlp_epoch`, `.mlp_defaults`, `.committee`, `.mixtures`, `.dask_mixture`, `.tables`, `.stream`
(`--help`). Most print ratios and write JSON to benchmarks/results. `.figure` draws README's figure.
"""

from dataclasses import asdict

from rich.console import Console
from rich.table import Table

from benchmarks import perceptron_epoch
from benchmarks._results import save


def main() -> None:
    results = perceptron_epoch.run()
    table = Table(
        title="An epoch in ms, one thread, best of 7; (test error %); ratio = rival / ours"
    )
    for column in ("inputs", "ours", "rival", "ratio"):
        table.add_column(column, no_wrap=True, justify="right" if column == "ratio" else "left")
    for r in results:
        table.add_row(
            r.inputs,
            f"{r.model:16} {r.our_milliseconds:5.2f} ({r.our_test_error:.1f})",
            f"{r.rival:20} {r.rival_milliseconds:5.1f} ({r.rival_test_error:.1f})",
            f"{r.ratio:.1f}",
        )
    console = Console(width=100)
    console.print(f"data: {results[0].data}")
    console.print(table)

    path = save("perceptron_epoch", [{**asdict(r), "ratio": r.ratio} for r in results])
    console.print(f"written: {path}")


if __name__ == "__main__":
    main()
