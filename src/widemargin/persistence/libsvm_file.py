"""Reads a model file of LIBSVM and checks it: no size is trusted before it was compared."""

from array import array
from collections.abc import Collection, Sequence
from typing import Any, NoReturn, TextIO

import numpy as np

from widemargin._runtime.files import PathLike
from widemargin.persistence.container import ModelFileError

__all__ = ["KERNELS", "LARGEST", "Content"]

KINDS = ("c_svc", "nu_svc", "one_class", "epsilon_svr", "nu_svr")
#: LIBSVM's name of a kernel -> our name, and the parameters of the kernel.
KERNELS = {
    "linear": ("linear", ()),
    "polynomial": ("poly", ("degree", "gamma", "coef0")),
    "rbf": ("rbf", ("gamma",)),
    "sigmoid": ("sigmoid", ("gamma", "coef0")),
    "precomputed": ("precomputed", ()),
}
FIELDS = (
    *("svm_type", "kernel_type", "degree", "gamma", "coef0", "nr_class", "total_sv", "rho"),
    *("label", "probA", "probB", "prob_density_marks", "nr_sv"),
)
LARGEST = 2**31 - 1  # of LIBSVM's integers


class Content:
    """The content of a file, checked: sizes in its header are compared with what follows."""

    def __init__(self, path: PathLike, file: TextIO) -> None:
        self.path, self.line = path, 0
        self.header: dict[str, tuple[int, list[str]]] = {}  # name to line and values
        self._read_header(file)
        kind, kernel = self._one("svm_type", KINDS), self._one("kernel_type", KERNELS)
        self.kind, (self.kernel, used) = kind, KERNELS[kernel]
        self.parameters: dict[str, float] = {}
        for name in used:
            (value,) = self._numbers(name, 1, whole=name == "degree")
            if value < 0 and name != "coef0":
                self._fail(f"{name} is negative", name)
            self.parameters[name] = value
        (self.n_classes,), (total,) = (
            self._numbers(name, 1, whole=True) for name in ("nr_class", "total_sv")
        )
        classifier = kind.endswith("svc")
        if self.n_classes < 2 or (self.n_classes > 2 and not classifier):
            self._fail(f"nr_class is {self.n_classes}, which {kind} cannot have", "nr_class")
        if total < 0:
            self._fail("total_sv is negative", "total_sv")
        self._read_machines(classifier, total)
        self._read_vectors(file, total)

    def _fail(self, what: str, field: str | None = None) -> NoReturn:
        line = self.header[field][0] if field else self.line
        raise ModelFileError(
            f"{self.path}, line {line}: {what}; the file is not a complete LIBSVM model, get it "
            "again from its source"
        )

    def _read_header(self, file: TextIO) -> None:
        for self.line, text in enumerate(file, 1):
            name, *values = text.split() or [""]
            if name == "SV" and not values:
                return
            if name not in FIELDS:
                self._fail(f"{name[:40]!r} is not a field of a LIBSVM model")
            if name in self.header:
                self._fail(f"{name} occurs a second time")
            self.header[name] = self.line, values
        self._fail("the file ends before SV")

    def _field(self, name: str) -> list[str]:
        if name not in self.header:
            self._fail(f"there is no {name} before SV")
        return list(self.header[name][1])

    def _one(self, name: str, known: Collection[str]) -> str:
        values = self._field(name)
        if len(values) != 1 or values[0] not in known:
            self._fail(f"{name} must be one of {', '.join(known)}", name)
        return values[0]

    def _numbers(self, name: str, count: int, *, whole: bool = False) -> list[Any]:
        texts = self._field(name)
        if len(texts) != count:
            self._fail(f"{name} has {len(texts)} values, not {count}", name)
        return [self._number(text, name, whole=whole) for text in texts]

    def _number(self, text: str, field: str | None = None, *, whole: bool = False) -> Any:
        try:
            value = int(text) if whole else float(text)
        except ValueError:
            value = np.nan
        # `whole` numbers first: a longer integer has no float.
        proper = abs(value) <= LARGEST if whole else np.isfinite(value)
        if "_" in text or not proper:
            kind = "an integer of 32 bits" if whole else "a finite number"
            self._fail(f"{text[:40]!r} is not {kind}", field)
        return value

    def _read_machines(self, classifier: bool, total: int) -> None:
        pairs = self.n_classes * (self.n_classes - 1) // 2 if classifier else 1
        self.rho = np.array(self._numbers("rho", pairs))
        self.prob_a = self.prob_b = np.empty(0)
        if not classifier:
            return
        if "probA" in self.header or "probB" in self.header:
            self.prob_a = np.array(self._numbers("probA", pairs))
            self.prob_b = np.array(self._numbers("probB", pairs))
        self.labels = self._numbers("label", self.n_classes, whole=True)
        if len(set(self.labels)) < self.n_classes:
            self._fail("a label occurs twice", "label")
        self.n_sv = self._numbers("nr_sv", self.n_classes, whole=True)
        if min(self.n_sv) < 0 or sum(self.n_sv) != total:
            self._fail(f"nr_sv must be counts whose sum is total_sv={total}", "nr_sv")
        ends = np.cumsum(self.n_sv)
        self.parts = [slice(end - n, end) for end, n in zip(ends, self.n_sv, strict=True)]

    def _read_vectors(self, file: TextIO, total: int) -> None:
        several, coef = self.n_classes - 1, array("d")
        self.columns, self.values, self.rows = array("i"), array("d"), array("q", [0])
        self.serials: list[int] = []
        for text in file:
            self.line += 1
            words = text.split()
            if not words:
                continue
            if len(self.rows) > total:
                self._fail(f"there are more support vectors than total_sv={total}")
            if len(words) < several or ":" in words[several - 1]:
                self._fail(f"a support vector needs {several} coefficients")
            coef.extend(self._number(word) for word in words[:several])
            self._read_inputs(words[several:])
            self.rows.append(len(self.columns))
        if len(self.rows) - 1 < total:
            self._fail(f"the file ends after {len(self.rows) - 1} of {total} support vectors")
        self.coef = np.array(coef).reshape(total, several)

    def _read_inputs(self, words: Sequence[str]) -> None:
        parts = [word.split(":") for word in words]
        if any(len(part) != 2 for part in parts):
            self._fail("an input must be written number:value")
        columns = [self._number(part[0], whole=True) for part in parts]
        if self.kernel == "precomputed":
            serial = self._number(parts[0][1], whole=True) if columns == [0] else 0
            if serial < 1:
                self._fail("a precomputed kernel needs 0:number, of an example counted from 1")
            self.serials.append(serial)
            return
        if any(b <= a for a, b in zip([0, *columns], columns, strict=False)):
            self._fail("the numbers of the inputs must be at least 1 and ascend")
        self.columns.extend(column - 1 for column in columns)
        self.values.extend(self._number(part[1]) for part in parts)
