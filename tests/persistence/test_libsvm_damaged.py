"""Model files of LIBSVM that are damaged: each is refused, with the line that is wrong."""

import pytest
from numpy.testing import assert_array_equal

from widemargin.persistence import ModelFileError, load_libsvm


@pytest.fixture
def path(tmp_path):
    return tmp_path / "some.model"


GOOD = """svm_type c_svc
kernel_type rbf
gamma 0.5
nr_class 3
total_sv 4
rho 0.1 0.2 0.3
label 3 1 2
nr_sv 2 1 1
SV
0.5 0.25 1:1 3:2.5
0.5 1 2:-1
-1 0.5
-0.75 -0.5 1:1e-3
"""


def test_a_good_file(path):
    path.write_text(GOOD)
    assert_array_equal(load_libsvm(path).classes_, [1, 2, 3])
    path.write_text(GOOD.replace("\n", " \r\n") + "\n")
    assert load_libsvm(path).n_features_in_ == 3


DAMAGED = {  # what to replace, by what: line, message
    ("svm_type c_svc", "svm_type d_svc"): (1, "svm_type must be one of c_svc"),
    ("svm_type c_svc\n", ""): (8, "no svm_type"),
    ("kernel_type rbf", "kernel_type __import__"): (2, "kernel_type must be one of"),
    ("gamma 0.5", "gamma nan"): (3, "'nan' is not a finite number"),
    ("gamma 0.5", "gamma 1e999"): (3, "not a finite number"),
    ("gamma 0.5", "gamma 1_0"): (3, "not a finite number"),
    ("gamma 0.5", "gamma -1"): (3, "gamma is negative"),
    ("gamma 0.5", "gamma 1 2"): (3, "gamma has 2 values, not 1"),
    ("gamma 0.5", "gamma"): (3, "gamma has 0 values, not 1"),
    ("gamma 0.5", "gamma 1\ngamma 1"): (4, "a second time"),
    ("gamma 0.5", "colour 1"): (3, "'colour' is not a field"),
    ("gamma 0.5", "\0\xff"): (3, "is not a field"),
    ("nr_class 3", "nr_class 1"): (4, "nr_class is 1"),
    ("nr_class 3", "nr_class -3"): (4, "nr_class is -3"),
    ("nr_class 3", "nr_class 2000000000"): (6, "rho has 3 values, not 1999999999000000000"),
    ("nr_class 3", "nr_class 99999999999999999999"): (4, "not an integer of 32 bits"),
    ("nr_class 3", "nr_class three"): (4, "not an integer of 32 bits"),
    ("nr_class 3", "nr_class 3.0"): (4, "not an integer of 32 bits"),
    ("total_sv 4", "total_sv -1"): (5, "total_sv is negative"),
    ("total_sv 4", "total_sv 5"): (8, "sum is total_sv=5"),
    ("total_sv 4", "total_sv 2147483647"): (8, "sum is total_sv"),
    ("nr_sv 2 1 1", "nr_sv 5 -2 1"): (8, "nr_sv must be counts"),
    ("nr_sv 2 1 1", "nr_sv 2 2"): (8, "nr_sv has 2 values, not 3"),
    ("4\nrho 0.1 0.2 0.3\nlabel 3 1 2\nnr_sv 2 1 1", "3\nrho 1 2 3\nlabel 3 1 2\nnr_sv 1 1 1"): (
        *(13, "more support vectors than total_sv=3"),
    ),
    (
        "4\nrho 0.1 0.2 0.3\nlabel 3 1 2\nnr_sv 2 1 1",
        "2147483647\nrho 1 2 3\nlabel 3 1 2\nnr_sv 2147483645 1 1",
    ): (13, "ends after 4 of 2147483647"),
    ("rho 0.1 0.2 0.3", "rho 0.1 0.2"): (6, "rho has 2 values, not 3"),
    ("rho 0.1 0.2 0.3", "rho 0.1 0.2 x"): (6, "'x' is not a finite number"),
    ("label 3 1 2", "label 3 1 3"): (7, "a label occurs twice"),
    ("label 3 1 2\n", ""): (8, "no label"),
    ("nr_sv", "probA 1 2 3\nnr_sv"): (10, "no probB"),
    ("nr_sv", "probA 1 2 3\nprobB 1 2\nnr_sv"): (9, "probB has 2 values, not 3"),
    ("-1 0.5\n", "-1\n"): (12, "needs 2 coefficients"),
    ("-1 0.5\n", "-1 1:0.5\n"): (12, "needs 2 coefficients"),
    ("-1 0.5\n", "-1 inf\n"): (12, "'inf' is not a finite number"),
    ("-1 0.5\n", ""): (12, "ends after 3 of 4"),
    ("2:-1", "0:-1"): (11, "at least 1 and ascend"),
    ("2:-1", "-7:-1"): (11, "at least 1 and ascend"),
    ("2:-1", "2147483648:1"): (11, "not an integer of 32 bits"),
    ("2:-1", "2:one"): (11, "'one' is not a finite number"),
    ("2:-1", "2:"): (11, "not a finite number"),
    ("2:-1", "2:3:4"): (11, "number:value"),
    ("2:-1", "2"): (11, "number:value"),
    ("3:2.5", "1:2.5"): (10, "ascend"),
    ("SV\n", "SX\n"): (9, "'SX' is not a field"),
}


@pytest.mark.parametrize(("change", "wanted"), DAMAGED.items())
def test_damaged_files(change, wanted, path):
    assert change[0] in GOOD
    path.write_text(GOOD.replace(*change, 1), encoding="latin-1")
    line, message = wanted
    with pytest.raises(ModelFileError, match=f"some.model, line {line}: .*{message}"):
        load_libsvm(path)


@pytest.mark.parametrize("serial", ["0:0", "0:-1", "0:x", "1:1", "0:1 1:2", ""])
def test_damaged_serials(serial, path):
    text = "svm_type one_class\nkernel_type precomputed\nnr_class 2\ntotal_sv 1\nrho 1\nSV\n"
    path.write_text(text + "0.5 0:7\n")
    assert_array_equal(load_libsvm(path).support_, [6])
    path.write_text(text + f"0.5 {serial}\n")
    with pytest.raises(ModelFileError, match="line 7"):
        load_libsvm(path)


def test_huge_numbers_of_inputs_need_no_room(path):
    path.write_text(GOOD.replace("3:2.5", "2147483646:2.5"))
    with pytest.raises(ModelFileError, match=r"an input 2,147,483,646.*n_features="):
        load_libsvm(path)
    loaded = load_libsvm(path, n_features=2147483646)
    assert loaded.support_vectors_.nnz == 4
    assert loaded.n_features_in_ == 2147483646


def test_truncated_files(path):
    for end in range(GOOD.rindex("-0.5")):
        path.write_text(GOOD[:end])
        with pytest.raises(ModelFileError, match="line"):
            load_libsvm(path)


def test_no_file(path):
    with pytest.raises(FileNotFoundError):
        load_libsvm(path)
