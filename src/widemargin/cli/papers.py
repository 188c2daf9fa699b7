"""`widemargin papers list | show | run`: the tables and figures of the documents, run again."""

import math
from pathlib import Path
from typing import Annotated

import typer
from rich.status import Status

from widemargin.cli.console import JsonOption, err, out, print_facts, print_json, say
from widemargin.cli.experiments import table_of

__all__ = ["papers"]

papers = typer.Typer(
    help="Run the tables and figures of the documents again.", no_args_is_help=True
)

IdsArgument = Annotated[
    list[str], typer.Argument(help="Ids, beginnings of ids as table-8, or all.", metavar="ID...")
]
SeedsOption = Annotated[int, typer.Option(min=1, help="Number of random seeds.")]


@papers.command("list")
def list_items(json: JsonOption = False) -> None:
    """List the tables and figures that can be run."""
    from widemargin.papers import ITEMS

    if json:
        fields = ("id", "title", "source", "kind", "minutes", "data")
        print_json([{name: getattr(item, name) for name in fields} for item in ITEMS.values()])
        return
    table = table_of("", ["id", "title", "kind", "data"], "minutes")
    for item in ITEMS.values():
        table.add_row(item.id, item.title, item.kind, ", ".join(item.data), f"{item.minutes:g}")
    table.columns[0].no_wrap = True
    table.columns[0].min_width = max(map(len, ITEMS))
    out.print(table)


@papers.command("show")
def show_item(
    item: Annotated[str, typer.Argument(help="Its id, as table-4.1.", metavar="ID")],
    json: JsonOption = False,
) -> None:
    """Show what one of them claims, and how it is run."""
    from widemargin.papers import ITEMS
    from widemargin.papers.item import as_printed

    if item not in ITEMS:
        raise ValueError(f"no experiment is called {item!r}; `widemargin papers list` shows all")
    found = ITEMS[item]
    facts = {
        "title": found.title,
        "source": found.source,
        "kind": found.kind,
        "protocol": found.protocol,
        "minutes": f"{found.minutes:g}",
        "data": ", ".join(found.data) or None,
        "deviations": " ".join(found.deviations) or None,
    }
    claims = [claim.text for claim in found.claims]
    if json:
        print_json({"id": item, **facts, "published": found.published, "claims": claims})
        return
    print_facts(facts, item)
    if found.published:
        table = table_of("", ["published"], found.unit or "value")
        for name, value in found.published.items():
            table.add_row(name, as_printed(value))
        out.print(table)
    for claim in claims:
        out.print(f"claim: {claim}")


@papers.command("run")
def run(
    ids: IdsArgument,
    output: Annotated[
        Path, typer.Option("--output", "-o", help="Folder of the results and the report.")
    ] = Path("papers"),
    budget: Annotated[
        float, typer.Option(min=0.0, help="Minutes; what would take longer is not begun.")
    ] = math.inf,
    scale: Annotated[
        float, typer.Option(min=0.0, max=1.0, help="Fraction of the rows and epochs.")
    ] = 1.0,
    seeds: SeedsOption = 3,
    json: JsonOption = False,
) -> None:
    """Run some of them, and write a report of all results in the folder.

    A run that was interrupted continues where it was: results in the folder are not measured again.
    """
    from widemargin.papers import ITEMS, Scope, find_items, read_records, run_items, write_report

    items, scope, page = find_items(ids), Scope(scale, tuple(range(seeds))), output / "report.html"
    late: list[str] = []
    with err.status("") as status:
        try:
            records = run_items(
                items,
                output,
                scope,
                budget=budget,
                watch=lambda item, what: _tell(status, item.id, what, late),
            )
        finally:  # after Ctrl-C, too
            write_report(ITEMS, read_records(output), page)
    found = {item.id: records[item.id] for item in items if item.id in records}
    verdicts = {key: ITEMS[key].verdict(record.measured) for key, record in found.items()}
    if json:
        lines = {key: ITEMS[key].lines(record.measured) for key, record in found.items()}
        print_json(
            {
                "items": [
                    {"id": key, "verdict": verdicts[key], "lines": lines[key]} for key in found
                ],
                "not_run": late,
                "report": page,
            }
        )
        return
    table = table_of("", ["id", "title", "verdict"], "seconds")
    for key, record in found.items():
        table.add_row(key, ITEMS[key].title, verdicts[key], f"{record.seconds:.1f}")
    out.print(table)
    if late:
        say(f"no time for {', '.join(late)}; run the same command again", "yellow")
    out.print(f"Report: {page}", soft_wrap=True)


def _tell(status: Status, name: str, what: str, late: list[str]) -> None:
    if what == "begun":
        status.update(f"Running {name}")
    elif what == "failed":
        say(f"{name} failed", "red")
    elif what == "no time":
        late.append(name)
