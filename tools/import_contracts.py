"""Contracts for import-linter that its own kinds cannot state; pyproject.toml has their values."""

import re
from collections.abc import Iterator

from grimp import DetailedImport, ImportGraph
from importlinter import Contract, ContractCheck, fields, output


class _Lines(Contract):
    """A contract that is broken by single lines."""

    root = fields.StringField()
    allowed = fields.SetField(subfield=fields.StringField())

    def check(self, graph: ImportGraph, verbose: bool) -> ContractCheck:
        found = list(self.broken(graph))
        return ContractCheck(kept=not found, metadata={"found": found})

    def broken(self, graph: ImportGraph) -> Iterator[DetailedImport]:
        raise NotImplementedError

    def render_broken_contract(self, check: ContractCheck) -> None:
        for detail in check.metadata["found"]:
            place = f"{detail['importer']}:{detail['line_number']}"
            output.print_error(f"{place}: {detail['line_contents'].strip()}")


class OnlyImports(_Lines):
    """The package `source` imports from `root` only itself and the modules in `allowed`."""

    source = fields.StringField()

    def broken(self, graph: ImportGraph) -> Iterator[DetailedImport]:
        for module in sorted({self.source, *graph.find_descendants(self.source)}):
            for imported in sorted(graph.find_modules_directly_imported_by(module)):
                if not any(within(imported, one) for one in {self.source, *self.allowed}):
                    yield from graph.get_import_details(importer=module, imported=imported)


class RootImports(_Lines):
    """Modules import from `root` itself only the names in `allowed`.

    `from widemargin import SVC` inside the package would reach every room at once, whatever the
    layers say. The core comes from there because import-linter does not see it as a module.
    """

    def broken(self, graph: ImportGraph) -> Iterator[DetailedImport]:
        for module in sorted(graph.find_modules_that_directly_import(self.root)):
            for detail in graph.get_import_details(importer=module, imported=self.root):
                if not all(self.is_allowed(name, graph) for name in names(detail, self.root)):
                    yield detail

    def is_allowed(self, name: str, graph: ImportGraph) -> bool:
        return name in self.allowed or f"{self.root}.{name}" in graph.modules


def within(module: str, package: str) -> bool:
    """Whether the module is the package or inside it."""
    return module == package or module.startswith(f"{package}.")


def names(detail: DetailedImport, root: str) -> list[str]:
    """The names that `from root import a, b as c` takes; of other imports, the whole line."""
    line = detail["line_contents"].partition("#")[0].strip()
    found = re.fullmatch(rf"from {re.escape(root)} import \(?([\w, ]+)\)?", line)
    return re.findall(r"(\w+)(?: as \w+)?", found[1]) if found else [line]
