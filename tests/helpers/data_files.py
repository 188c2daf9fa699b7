"""A small table, and files to read it from."""

import numpy as np

X = np.array([[0.0, 1.5, 0.0], [2.0, 0.0, -3.25], [0.0, 0.0, 7.0]])
Y = np.array([1, -1, 1])


def write(folder, name, text):
    path = folder / name
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    return path


def csv_text(separator=","):
    lines = [["a", "b", "c", "y"], *([*map(str, row), str(y)] for row, y in zip(X, Y, strict=True))]
    return "".join(separator.join(line) + "\n" for line in lines)
