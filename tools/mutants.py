"""Whether the tests notice mistakes: changes lines of the solvers one at a time, runs the tests.

    python -m tools.mutants --list         the mutations that a seed draws
    python -m tools.mutants                twenty of them; fails if more than two survive
    python -m tools.mutants --resume       what an interrupted run left, and its survivors again

A copy of the tree in build/mutants is changed, never the tree itself. The tests must pass there
first. A mutation that does not compile, or compiles to the same code, is replaced by the next one.
Tests of real data are left out. The core is built for one instruction set only, which halves the
time; the C++ tests are built too, for mutations of C++ that all other tests let pass.
"""

import argparse
import json
import os
import re
import shutil
import signal
import subprocess
import sys
import time
import xml.etree.ElementTree as ElementTree
from collections import defaultdict
from pathlib import Path
from typing import Any

from tools.mutations import Mutation, draw

ROOT = Path(__file__).resolve().parents[1]
WORK = ROOT / "build" / "mutants"
TREE, MODULE, CPP_TESTS = WORK / "tree", WORK / "module", WORK / "cpp-tests"
RESULT = WORK / "mutants.json"

# Tests of a room of the core, in the order in which they are run; Python rooms have their own name.
TESTS_OF_CORE = {
    "linear": ["linear_svm", "perceptrons"],
    "kernel": ["svm", "perceptrons", "test_kernels.py"],
    "svm": ["svm"],
    "mlp": ["mlp"],
    "mixture": ["mixtures"],
    "rows": ["inputs", "streaming", "perceptrons", "linear_svm", "mlp"],
}
ALSO = {"inputs": ["perceptrons", "linear_svm"], "training": ["perceptrons", "svm"]}
LEFT_OUT = {"test_cpp.py", "test_words.py", "test_vocabulary.py", "tools", "helpers"}
QUICK, LONG = "not data and not slow", "not data and slow"  # quick tests notice most mistakes
PATIENCE = 4.0  # times what the tests take without a mutation: more is a hang
UNKNOWN = 100.0  # seconds of an entry that was not measured


class Refused(Exception):
    """The mutation is no candidate: it does not compile, or changes nothing."""


def run(command: list[Any], log: Path, seconds: float | None = None, **options: Any) -> bool:
    """Runs a command, with its output in a file and a limit of seconds; whether it succeeded."""
    with open(log, "w") as file:
        process = subprocess.Popen(
            [str(part) for part in command],
            stdout=file,
            stderr=subprocess.STDOUT,
            start_new_session=True,
            **options,
        )
        try:
            return process.wait(seconds) == 0
        except subprocess.TimeoutExpired:
            os.killpg(process.pid, signal.SIGKILL)
            process.wait()
            raise


# --------------------------------------------------------------------------------- the copy


def copy_tree() -> None:
    """The files under version control, as they are now.

    Only what differs is written, so that the next build compiles it again and nothing else: a run
    that was killed leaves a mutation in the copy, and in what was built from it.
    """
    command = ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"]
    names = subprocess.run(command, cwd=ROOT, check=True, capture_output=True, text=True).stdout
    wanted = {Path(name) for name in names.split("\0") if name and (ROOT / name).is_file()}
    for path in [path for path in TREE.rglob("*") if path.is_file()]:
        if path.relative_to(TREE) not in wanted:
            path.unlink()
    for name in wanted:
        content, copy = (ROOT / name).read_bytes(), TREE / name
        if not copy.exists() or copy.read_bytes() != content:
            copy.parent.mkdir(parents=True, exist_ok=True)
            copy.write_bytes(content)


def configure(build: Path, *options: str) -> None:
    """Makes a build folder for ninja, with one instruction set."""
    command = [tool("cmake"), "-S", TREE, "-B", build, "-G", "Ninja"]
    command += [f"-DCMAKE_MAKE_PROGRAM={tool('ninja')}", f"-DPython_EXECUTABLE={sys.executable}"]
    log = WORK / f"{build.name}.log"
    command += ["-DCMAKE_BUILD_TYPE=Release", "-DWIDEMARGIN_WIDER_ISAS=", *options]
    if not run(command, log):
        raise RuntimeError(f"cmake failed; its output is in {log}")


def tool(name: str) -> str:
    """A program from the PyPI package beside this Python, or from PATH."""
    found = shutil.which(name, path=str(Path(sys.executable).parent)) or shutil.which(name)
    if found is None:
        raise RuntimeError(f"no {name}; pip install {name}")
    return found


def build(folder: Path) -> bool:
    """Builds what has changed."""
    return run([tool("cmake"), "--build", folder], WORK / f"{folder.name}.log")


def install_core() -> bytes:
    """Builds the module and puts it beside the package; returns it."""
    if not build(MODULE):
        raise Refused("does not compile")
    core = built_core().read_bytes()
    put_core(core)
    return core


def built_core() -> Path:
    """The module in its build folder."""
    (module,) = MODULE.glob("_core*.so")
    return module


def put_core(core: bytes) -> None:
    """Puts a module beside the package."""
    (TREE / "src" / "widemargin" / built_core().name).write_bytes(core)


# -------------------------------------------------------------------------------- the tests


def tests_of(path: Path) -> list[str]:
    """The entries of tests/ for a source file, nearest first."""
    room = path.relative_to(ROOT).parts[2]
    near = TESTS_OF_CORE[room] if path.suffix != ".py" else [room, *ALSO.get(room, [])]
    return [name for name in near if (TREE / "tests" / name).exists()]


def pytest(
    entries: list[str], marks: str, seconds: float | None, workers: str, *options: str
) -> str | None:
    """The first test with these marks that fails, "hangs", or None if all pass."""
    log = WORK / "pytest.log"
    paths = [TREE / "tests" / name for name in entries]
    command = [sys.executable, "-m", "pytest", "-q", "-x", "-n", workers, "-m", marks]
    command += ["-p", "no:cacheprovider", "--max-worker-restart=0", "--rootdir", TREE]
    command += [*options, *paths]
    folders = [TREE / "src", TREE, TREE / "tests"]
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(map(str, folders)), "CI": "1"}
    environment["PYTHONDONTWRITEBYTECODE"] = "1"  # else a mutated file may meet an old cache
    try:
        passed = run(command, log, seconds, cwd=TREE, env=environment)
    except subprocess.TimeoutExpired:
        return "hangs"
    output = log.read_text("utf-8", "replace")
    if passed or re.search(r"^(no tests ran|\d+ deselected) in ", output, re.M):
        return None
    if crashed := re.search(r"crashed while running '(.+?)'", output):
        return f"{crashed[1]} (crashes)"
    found = re.search(r"^(?:FAILED|ERROR|SUBFAILED\S*(?: \(.*?\))?) (\S.*?)(?: - |$)", output, re.M)
    return found[1] if found else f"ends with an error: {output.strip()[-200:]}"


def every_entry() -> list[str]:
    """The entries of tests/ that hold tests of the package."""
    entries = sorted(path for path in (TREE / "tests").iterdir() if path.name not in LEFT_OUT)
    return [p.name for p in entries if p.name.startswith("test_") or p.is_dir()]


def usual_seconds(workers: str) -> dict[str, float]:
    """Seconds of each entry without a mutation; an error if a test fails."""
    report = WORK / "pytest.xml"
    began = time.monotonic()
    failed = pytest(every_entry(), "not data", None, workers, f"--junitxml={report}")
    if failed:
        raise RuntimeError(f"without any mutation {failed}; see {WORK / 'pytest.log'}")
    seconds: dict[str, float] = defaultdict(float)
    for case in ElementTree.parse(report).iter("testcase"):
        parts = case.get("classname", "").split(".")[1:]
        entry = f"{parts[0]}.py" if parts[0].startswith("test_") else parts[0]
        seconds[entry] += float(case.get("time", 0))
    print(f"without a mutation all tests pass in {time.monotonic() - began:.0f} s", flush=True)
    return seconds


def verdict(mutation: Mutation, usual: dict[str, float], core: bytes, workers: str) -> str | None:
    """What notices the mutation: a test, or a hang; None if nothing does."""
    near = tests_of(mutation.path)
    if mutation.path.suffix != ".py" and install_core() == core:
        raise Refused("compiles to the same code")
    far = [name for name in every_entry() if name not in near]

    def first_failure(entries: list[str]) -> str | None:
        limit = 60 + PATIENCE * sum(usual.get(name, UNKNOWN) for name in entries)
        return pytest(entries, QUICK, limit, workers) or pytest(entries, LONG, limit, workers)

    if failed := first_failure(near):
        return failed
    if mutation.path.suffix != ".py" and (failed := cpp_tests()):  # shorter than all the others
        return failed
    return first_failure(far)


def cpp_tests() -> str | None:
    """What fails among the C++ tests."""
    if not build(CPP_TESTS):
        return "the C++ tests do not compile"
    log, ctest = WORK / "ctest.log", Path(tool("cmake")).with_name("ctest")
    try:
        passed = run([ctest, "--test-dir", CPP_TESTS, "--output-on-failure"], log, 900)
    except subprocess.TimeoutExpired:
        return "the C++ tests hang"
    return None if passed else "the C++ tests fail"


# ------------------------------------------------------------------------------- the table


def examine(options: argparse.Namespace) -> list[dict[str, Any]]:
    """Mutates, builds and tests until enough mutations have been judged."""
    WORK.mkdir(parents=True, exist_ok=True)
    copy_tree()
    configure(MODULE)
    configure(CPP_TESTS, "-DWIDEMARGIN_CPP_TESTS=ON")
    core = install_core()
    if not build(CPP_TESTS):
        raise RuntimeError(f"the C++ tests do not compile; see {WORK / 'cpp-tests.log'}")
    usual = {} if options.trust else usual_seconds(options.workers)
    earlier = judged_before(options.seed) if options.resume else []
    records: list[dict[str, Any]] = []
    for mutation in draw(ROOT, options.seed):
        if sum("refused" not in record for record in records) == options.count:
            break
        record, began = describe(mutation), time.monotonic()
        if known := next((old for old in earlier if record.items() <= old.items()), None):
            records.append(known)
            continue
        copy = TREE / mutation.path.relative_to(ROOT)
        original = copy.read_text("utf-8")
        copy.write_text(mutation.apply(original), "utf-8")
        try:
            record["killed_by"] = verdict(mutation, usual, core, options.workers)
        except Refused as reason:
            record["refused"] = str(reason)
        finally:
            copy.write_text(original, "utf-8")
            put_core(core)
        if "::" in (record.get("killed_by") or ""):
            check_the_witness(record)
        record["seconds"] = round(time.monotonic() - began)
        records.append(record)
        show(record)
        RESULT.write_text(json.dumps({"seed": options.seed, "mutants": records}, indent=1), "utf-8")
    return [record for record in records if "refused" not in record]


def judged_before(seed: int) -> list[dict[str, Any]]:
    """What an earlier run killed or refused. Survivors are left out: there may be a new test."""
    if not RESULT.exists():
        return []
    result = json.loads(RESULT.read_text("utf-8"))
    return [old for old in result["mutants"] if result["seed"] == seed and not survived(old)]


def survived(record: dict[str, Any]) -> bool:
    """Whether no test noticed a mutation that was built."""
    return "refused" not in record and record["killed_by"] is None


def check_the_witness(record: dict[str, Any]) -> None:
    """An error if the test that failed with a mutation fails without it too."""
    test = record["killed_by"].removesuffix(" (crashes)").removeprefix("tests/")
    if failed := pytest([test], "not data", None, "0"):
        raise RuntimeError(f"{failed} fails without the mutation of {record['place']} too")


def describe(mutation: Mutation) -> dict[str, Any]:
    """A mutation as the report has it."""
    line = mutation.path.read_text("utf-8").split("\n")[mutation.line - 1]
    place = f"{mutation.path.relative_to(ROOT)}:{mutation.line}"
    return {"place": place, "before": line.strip(), "after": mutation.mutated(line).strip()}


def show(record: dict[str, Any]) -> None:
    """Prints a mutation, and what became visible of it."""
    print(f"{record['place']}\n  - {record['before']}\n  + {record['after']}")
    if "refused" in record:
        print(f"  left out: it {record['refused']}", flush=True)
    elif "seconds" in record:
        print(f"  {record['killed_by'] or 'SURVIVED'} ({record['seconds']} s)", flush=True)


def main() -> int:
    """0 if enough mutants were killed."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--count", type=int, default=20, help="mutants to judge")
    parser.add_argument("--survivors", type=int, default=2, help="how many may survive")
    parser.add_argument("--workers", default="auto", help="processes of pytest")
    parser.add_argument("--list", action="store_true", help="only print what would be drawn")
    parser.add_argument("--resume", action="store_true", help="keep what an earlier run judged")
    parser.add_argument("--trust", action="store_true", help="do not run the tests unchanged first")
    options = parser.parse_args()
    if options.list:
        for _, mutation in zip(range(options.count), draw(ROOT, options.seed), strict=False):
            show(describe(mutation))
        return 0
    # A shell starts jobs in the background with Ctrl-C ignored, and the tests would inherit that.
    signal.signal(signal.SIGINT, signal.default_int_handler)
    records = examine(options)
    alive = [record for record in records if survived(record)]
    print(f"\n{len(records) - len(alive)} of {len(records)} mutants were killed")
    for record in alive:
        show(record)
    print(f"the whole list is in {RESULT.relative_to(ROOT)}")
    return int(len(alive) > options.survivors or len(records) < options.count)


if __name__ == "__main__":
    sys.exit(main())
