"""The matrix product of SciPy's BLAS, by address so that the core can call it; its threads."""

import ctypes
from functools import cache
from typing import Any

from scipy.linalg import cython_blas
from threadpoolctl import ThreadpoolController


@cache
def gemm_address(*, wide: bool) -> int:
    """Address of the Fortran routine dgemm (if `wide`) or sgemm, whose sizes are C ints."""
    capsule = cython_blas.__pyx_capi__["dgemm" if wide else "sgemm"]
    name_of = ctypes.pythonapi.PyCapsule_GetName
    name_of.restype, name_of.argtypes = ctypes.c_char_p, [ctypes.py_object]
    pointer_of = ctypes.pythonapi.PyCapsule_GetPointer
    pointer_of.restype, pointer_of.argtypes = ctypes.c_void_p, [ctypes.py_object, ctypes.c_char_p]
    signature = name_of(capsule)
    if signature is None or not signature.startswith(b"void (char *, char *, int *, int *, int *"):
        raise ImportError(f"SciPy's BLAS has an unknown signature: {signature!r}")
    return int(pointer_of(capsule, signature) or 0)


def one_blas_thread(controller: ThreadpoolController) -> Any:
    """Context in which BLAS uses one thread: the threads of the core call it in parallel."""
    return controller.limit(limits=1, user_api="blas")
