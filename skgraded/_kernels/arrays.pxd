"""Conversion of C++ vectors to NumPy arrays; the module must call `numpy.import_array()`."""

cimport numpy as cnp
from libc.string cimport memcpy


cdef inline cnp.ndarray array_of(const void* numbers, size_t n, int dtype):
    """Copy n numbers of a type such as `cnp.NPY_INTP` into an array."""
    cdef cnp.npy_intp size = <cnp.npy_intp>n
    cdef cnp.ndarray array = cnp.PyArray_SimpleNew(1, &size, dtype)
    if n:
        memcpy(cnp.PyArray_DATA(array), numbers, array.nbytes)
    return array
