"""Peak memory of a fit, measured in a separate process."""

import json
import subprocess
import sys
import tempfile
from dataclasses import asdict
from pathlib import Path

import numpy as np

from benchmarks._contest import OURS, RIVALS, Contest
from benchmarks._data import Data
from benchmarks._peak import peak_so_far
from benchmarks.adapters._kernel import KernelLibrary, Machine
from benchmarks.adapters._library import convert


def peak(library: KernelLibrary, machine: Machine, data: Data, threads: int) -> dict[str, float]:
    """Peak memory of the process and its growth during the fit, in MB; dense float32 inputs."""
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "data.npz"
        np.savez(file, X=convert(data.X, "dense float32"), y=data.y)
        task = {"library": library.name, "machine": asdict(machine), "threads": threads}
        command = [sys.executable, "-m", "benchmarks._memory", str(file), json.dumps(task)]
        output = subprocess.run(command, check=True, capture_output=True, text=True).stdout
    return json.loads(output.splitlines()[-1])


def main() -> None:
    file, task = sys.argv[1], json.loads(sys.argv[2])
    library = next(l for l in (OURS, *RIVALS) if l.name == task["library"])
    library.missing()  # imports it
    with np.load(file, allow_pickle=False) as z:
        X, y = convert(z["X"], library.formats[0]), z["y"]
    contest = Contest((), repeat=1, threads=task["threads"], limit=np.inf)
    contest.fit(
        library, Machine(**task["machine"]), X[:100], y[:100]
    )  # loads what the first fit needs
    before = peak_so_far()
    contest.fit(library, Machine(**task["machine"]), X, y)
    print(json.dumps({"peak": peak_so_far(), "fit": peak_so_far() - before}))


if __name__ == "__main__":
    main()
