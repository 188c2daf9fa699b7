"""The native core: its C++ tests, the symbols of its objects, instruction sets, errors, leaks."""

import os
import platform
import re
import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from helpers.processes import package_first
from widemargin import _core

SOURCES = Path(__file__).resolve().parents[1]
ISAS = ["baseline", "avx2", "avx512"]


def tool(name):
    """A program from PATH, or from the PyPI package beside this Python."""
    beside = str(Path(sys.executable).parent)
    return shutil.which(name) or shutil.which(name, path=beside)


def compiler():
    return tool(os.environ.get("CXX", "").split(" ")[0] or "c++") or tool("g++") or tool("clang++")


def run(*command, **options):
    """Runs a command and returns its output, which is the message if the command fails."""
    done = subprocess.run(
        [str(part) for part in command],
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        check=False,
        **options,
    )
    assert done.returncode == 0, f"{' '.join(map(str, command))}\n{done.stdout}"
    return done.stdout


def why_not_compile():
    """Why this machine cannot compile the core; empty if it can."""
    if compiler() is None:
        return "no C++ compiler"
    if tool("cmake") is None or tool("ninja") is None:
        return "no cmake and ninja"
    return "" if (SOURCES / "cpp" / "tests" / "test_core.cpp").exists() else "no C++ sources here"


compiled = pytest.mark.skipif(bool(why_not_compile()), reason=why_not_compile())


def build(folder, *options, targets=("all",)):
    """Configures the core in a folder and builds these targets."""
    make = f"-DCMAKE_MAKE_PROGRAM={tool('ninja')}"
    run(tool("cmake"), "-S", SOURCES, "-B", folder, "-G", "Ninja", make, *options)
    run(tool("cmake"), "--build", folder, "--target", *targets)


def supported(isa):
    if isa == "baseline":
        return True
    wide = {f"avx512{part}" for part in ("f", "dq", "bw", "vl", "vpopcntdq")}
    needed = {"avx2": {"avx2", "fma"}, "avx512": wide}
    return needed[isa] <= set(_core.cpu_features())


WIDEST = [isa for isa in ISAS if supported(isa)][-1]


@compiled
@pytest.mark.slow(seconds=300)
@pytest.mark.timeout(2400)  # of builds on a busy machine
def test_core_under_sanitizers():
    """The narrowest and the widest registers of this CPU: all sets have the same source."""
    folder = SOURCES / "build" / "sanitized"  # stays: the next run builds only what has changed
    build(folder, "-DWIDEMARGIN_CPP_TESTS=ON", f"-DWIDEMARGIN_WIDER_ISAS={WIDEST}")
    ctest = Path(tool("cmake")).with_name("ctest")
    # without tests ctest succeeds: `--no-tests=error` makes that a failure too
    output = run(ctest, "--test-dir", folder, "--output-on-failure", "--no-tests=error")
    assert "100% tests passed" in output
    assert WIDEST == "baseline" or f"svm_{WIDEST}" in output


# ------------------------------------------------------------------------------- weak symbols


def foreign_weak_symbols(path, isa):
    """The weak symbols of an object file that do not have its instruction set in their names.

    The linker keeps one copy of a weak symbol for all instruction sets (docs/decisions/0001).
    """
    listed = run(tool("nm"), "--defined-only", "--demangle", path)
    weak = re.findall(r"^\S+ [WwVvu] (.*)$", listed, flags=re.MULTILINE)
    # DW.ref.* are addresses of the C++ run-time library, without code
    return [name for name in weak if f"widemargin::{isa}::" not in name and "DW.ref." not in name]


needs_nm = pytest.mark.skipif(
    tool("nm") is None or platform.system() != "Linux" or platform.machine() != "x86_64",
    reason="needs nm, and several instruction sets in ELF objects",
)


def objects_of_the_build(isa):
    """The loops of an instruction set as the installed module has them; None if they are older."""
    newest = max(path.stat().st_mtime for path in (SOURCES / "cpp").rglob("*.?pp"))
    found = (SOURCES / "build").glob(f"*/CMakeFiles/widemargin_{isa}.dir/**/loops.cpp.o")
    released = (path for path in found if "sanitized" not in path.parts)
    return next((path for path in released if path.stat().st_mtime > newest), None)


@compiled
@needs_nm
@pytest.mark.slow(seconds=60)
@pytest.mark.parametrize("isa", ISAS)
def test_no_weak_symbol_is_shared_by_instruction_sets(isa, tmp_path):
    loops = objects_of_the_build(isa)
    if loops is None:
        options = ("-DWIDEMARGIN_CORE_ONLY=ON", "-DCMAKE_BUILD_TYPE=Release")
        build(tmp_path, *options, targets=[f"widemargin_{isa}"])
        (loops,) = tmp_path.glob(f"CMakeFiles/widemargin_{isa}.dir/**/loops.cpp.o")
    assert f"widemargin::{isa}::table" in run(tool("nm"), "--demangle", loops)
    assert foreign_weak_symbols(loops, isa) == []


@pytest.mark.slow
@compiled
@needs_nm
@pytest.mark.parametrize(
    ("function", "shared"),
    [("void grow(std::vector<double>& v) { v.resize(9); }", True),
     ("inline int twice(int i) { return 2 * i; } int (*loop)(int) = twice;", False)],
)  # fmt: skip
def test_the_check_of_weak_symbols_can_fail(tmp_path, function, shared):
    code = "#include <vector>\nnamespace widemargin::avx2 { " + function + " }"
    (tmp_path / "loops.cpp").write_text(code)
    run(compiler(), "-std=c++20", "-c", "-O0", tmp_path / "loops.cpp", "-o", tmp_path / "loops.o")
    found = foreign_weak_symbols(tmp_path / "loops.o", "avx2")
    assert any("std::vector<double" in name for name in found) == shared
    assert bool(found) == shared


# --------------------------------------------------------------------------- instruction sets

FIT = """
import sys
import numpy as np
import scipy.sparse as sp
from widemargin import SGDSVC, MarginPerceptron, _core

rng = np.random.default_rng(0)
X = rng.normal(size=(200, 37)) * (rng.random((200, 37)) < 0.4)
y = rng.integers(0, 3, 200)
options = {"max_iter": 5, "tol": None, "shuffle": False, "average": True}
coefs = [
    model.fit(data, y).coef_
    for model in (MarginPerceptron(**options), SGDSVC(mu=0.1, **options))
    for data in (X, sp.csr_array(X), X.astype(np.float32), sp.csr_array(X.astype(np.float32)))
]
np.save(sys.argv[1], np.array(coefs))
print(_core.isa)
"""


def python(code, *arguments, isa=None):
    environment = package_first(os.environ)
    environment.pop("WIDEMARGIN_ISA", None)
    if isa is not None:
        environment["WIDEMARGIN_ISA"] = isa
    return subprocess.run(
        [sys.executable, "-c", code, *map(str, arguments)],
        env=environment,
        capture_output=True,
        text=True,
        check=False,
    )


@pytest.fixture(scope="module")
def default_fit(tmp_path_factory):
    path = tmp_path_factory.mktemp("isa") / "default.npy"
    done = python(FIT, path)
    assert done.returncode == 0, done.stderr
    return np.load(path)


@pytest.mark.slow
@pytest.mark.parametrize("isa", ISAS)
def test_every_instruction_set_gives_the_same_fit(isa, default_fit, tmp_path):
    if not supported(isa):
        pytest.skip(f"this CPU has no {isa}")
    done = python(FIT, tmp_path / "coef.npy", isa=isa)
    assert done.returncode == 0, done.stderr
    assert done.stdout.split() == [isa]
    np.testing.assert_allclose(np.load(tmp_path / "coef.npy"), default_fit, rtol=1e-9, atol=1e-12)


@pytest.mark.slow
def test_default_is_the_best_instruction_set():
    done = python("from widemargin import _core; print(_core.isa)")
    assert done.stdout.split() == [WIDEST]


def test_unknown_instruction_set_is_an_error_at_import():
    done = python("import widemargin", isa="mmx")
    assert done.returncode != 0
    assert "WIDEMARGIN_ISA=mmx" in done.stderr
    assert "baseline" in done.stderr  # what to use instead


# ------------------------------------------------------------------------------------- errors


def decomposition(**changes):
    """A solver of a tiny problem."""
    zeros = np.zeros((1, 4))
    options = {
        "diagonal": np.ones(4), "beta": zeros, "lo": zeros, "hi": zeros + 1.0, "s": zeros - 1.0,
        "group": None, "working_set": 0, "shrinking": "checked", "patience": 5, "threshold": -1.0,
        "tol": 1e-3,
        "cache_bytes": 1 << 20, "max_steps": -1, "threads": 1, "memory": None,
    }  # fmt: skip
    return _core.Decomposition(lambda rows: np.eye(4)[rows], **{**options, **changes})


@pytest.mark.parametrize("shrinking", ["never", "checked", "heuristic"])
def test_every_kind_of_shrinking_is_known(shrinking):
    assert decomposition(shrinking=shrinking).run(1.0)["done"]


@pytest.mark.parametrize("shrinking", ["always", "", "Checked"])
def test_unknown_shrinking_is_an_error_that_lists_the_known_ones(shrinking):
    message = f"shrinking='{shrinking}' is unknown; use 'never', 'checked' or 'heuristic'"
    with pytest.raises(ValueError, match=message):
        decomposition(shrinking=shrinking)


# -------------------------------------------------------------------------------------- leaks

# nanobind lists what is left of its objects on stderr when the interpreter exits.

EVERY_KIND_OF_FIT = """
import warnings

import numpy as np
import scipy.sparse as sp
import widemargin as wm
from widemargin import _core

warnings.simplefilter("ignore")
rng = np.random.default_rng(0)
X = rng.normal(size=(60, 5)) * (rng.random((60, 5)) < 0.5)
y = np.where(X[:, 0] + X[:, 1] > 0, 1, -1)


def fits():
    for data in (X, sp.csr_array(X)):
        for model in (
            wm.Perceptron(max_iter=2), wm.MarginPerceptron(max_iter=2), wm.LinearSVC(), wm.SVC(),
            wm.KernelPerceptron(max_iter=2), wm.SimpleMLPClassifier(max_iter=2),
            wm.NilssonMLPClassifier(max_iter=2), wm.MLPClassifier((3,), max_iter=2),
        ):
            model.fit(data, y).predict(data)
    wm.HardMixtureClassifier(n_experts=2).fit(X, y).predict(X)
    wm.SVC(kernel="precomputed").fit(X @ X.T, y)


def failed_fits(kind):
    for fail_after in (0, 1):  # in the diagonal, and in a row that the solver asks for
        errors, calls = [], []

        # Everything refers to everything: the kernel to the errors and to its model, an error to
        # the frames in which it was raised, one of these to the solver, the solver to the kernel.
        def kernel(a, b):
            calls.append(len(errors))
            if len(calls) > fail_after:
                raise kind(f"after {fail_after} calls of {model}")
            return np.asarray(a @ b.T)

        model = wm.SVC(kernel=kernel)
        model.itself = model
        try:
            model.fit(X, y)
        except kind as error:
            errors.append(error)
        assert len(errors) == 1, calls
    for data in ("nonsense", X[:, :0], np.full((3, 2), np.nan)):
        for model in (wm.SVC(), wm.LinearSVC(), wm.MarginPerceptron()):
            try:
                model.fit(data, y)
            except ValueError as error:
                model.error = error


class Array(np.ndarray):
    pass


def cycles():
    array = np.zeros((3, 2)).view(Array)
    array.rows = _core.Rows.dense(array)

    def rows_of(rows):
        return np.eye(4)[rows]

    zeros = np.zeros((1, 4))
    rows_of.solver = _core.Decomposition(
        rows_of, diagonal=np.ones(4), beta=zeros, lo=zeros, hi=zeros + 1, s=zeros - 1, group=None,
        working_set=0, shrinking="never", patience=5, threshold=-1.0, tol=1e-3, cache_bytes=1000,
        max_steps=-1, threads=1, memory=None)
    rows_of.solver.run(1.0)


fits()
failed_fits(ValueError)
failed_fits(KeyboardInterrupt)
cycles()
"""

A_LEAK = """
import ctypes
import numpy as np
from widemargin import _core
ctypes.pythonapi.Py_IncRef(ctypes.py_object(_core.Rows.dense(np.zeros((2, 2)))))
"""


@pytest.mark.slow
def test_nothing_leaks():
    done = python(EVERY_KIND_OF_FIT)
    assert (done.returncode, done.stderr) == (0, "")


@pytest.mark.slow
def test_a_leak_would_be_reported():
    done = python(A_LEAK)
    assert done.returncode == 0, done.stderr
    assert "nanobind: leaked" in done.stderr
