"""The C++ tests under sanitizers, and every instruction set of this machine from Python."""

import os
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
    """Runs a command; its output is the failure's message."""
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


@pytest.mark.skipif(compiler() is None, reason="no C++ compiler")
@pytest.mark.skipif(tool("cmake") is None or tool("ninja") is None, reason="no cmake and ninja")
@pytest.mark.skipif(
    not (SOURCES / "cpp" / "tests" / "test_core.cpp").exists(), reason="no C++ sources here"
)
def test_core_under_sanitizers(tmp_path):
    cmake = tool("cmake")
    run(
        cmake,
        "-S", SOURCES,
        "-B", tmp_path,
        "-G", "Ninja",
        f"-DCMAKE_MAKE_PROGRAM={tool('ninja')}",
        "-DWIDEMARGIN_CPP_TESTS=ON",
    )  # fmt: skip
    run(cmake, "--build", tmp_path)
    ctest = Path(cmake).with_name("ctest")
    # without tests ctest succeeds: `--no-tests=error` makes that a failure too
    output = run(ctest, "--test-dir", tmp_path, "--output-on-failure", "--no-tests=error")
    assert "100% tests passed" in output


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


def supported(isa):
    if isa == "baseline":
        return True
    needed = {"avx2": {"avx2", "fma"}, "avx512": {"avx512f", "avx512dq", "avx512bw", "avx512vl"}}
    return needed[isa] <= set(_core.cpu_features())


@pytest.mark.parametrize("isa", ISAS)
def test_every_instruction_set_gives_the_same_fit(isa, default_fit, tmp_path):
    if not supported(isa):
        pytest.skip(f"this CPU has no {isa}")
    done = python(FIT, tmp_path / "coef.npy", isa=isa)
    assert done.returncode == 0, done.stderr
    assert done.stdout.split() == [isa]
    np.testing.assert_allclose(np.load(tmp_path / "coef.npy"), default_fit, rtol=1e-9, atol=1e-12)


def test_default_is_the_best_instruction_set():
    done = python("from widemargin import _core; print(_core.isa)")
    assert done.stdout.split() == [[isa for isa in ISAS if supported(isa)][-1]]


def test_unknown_instruction_set_is_an_error_at_import():
    done = python("import widemargin", isa="mmx")
    assert done.returncode != 0
    assert "WIDEMARGIN_ISA=mmx" in done.stderr
    assert "baseline" in done.stderr  # what to use instead
