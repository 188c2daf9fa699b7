"""The memory of training does not grow with the size of the files."""

import os
import subprocess
import sys

import numpy as np
import pytest

pd = pytest.importorskip("pandas")
pytest.importorskip("pyarrow")

rng = np.random.default_rng(0)

MEMORY = """
import sys
from pathlib import Path
from widemargin import MarginPerceptron
from widemargin.streaming import fit_stream, stream

def peak():
    line = next(l for l in Path("/proc/self/status").read_text().splitlines() if "VmHWM" in l)
    return int(line.split()[1]) / 1024

def train(rows):
    return fit_stream(MarginPerceptron(), stream(rows, target="y", chunk_rows=10_000))

train(sys.argv[1])
before = peak()
print(train(sys.argv[2]).rows, peak() - before)
"""


@pytest.mark.slow
@pytest.mark.skipif(not os.path.exists("/proc/self/status"), reason="needs Linux's /proc")
@pytest.mark.parametrize("suffix", ["csv", "parquet"])
def test_memory_does_not_grow_with_the_files(suffix, tmp_path):
    frame = pd.DataFrame(rng.normal(size=(20_000, 20)).astype(np.float32).round(3))
    frame = frame.rename(columns=str).assign(y=frame[0] > 0)
    small, folder = tmp_path / f"small.{suffix}", tmp_path / "large"
    folder.mkdir()
    write = (
        frame.to_parquet if suffix == "parquet" else lambda path: frame.to_csv(path, index=False)
    )
    write(small)
    parts = 100 if suffix == "parquet" else 50
    for i in range(parts):
        os.link(small, folder / f"{i:03}.{suffix}")
    command = [sys.executable, "-c", MEMORY, str(small), str(folder)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120, check=True)
    rows, growth = done.stdout.split()
    assert int(rows) == parts * 20_000
    assert float(growth) < 50  # the inputs would take 160 MB, the text 130 MB
