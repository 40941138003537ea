"""The plan of a measure, which other kernels read."""


cdef struct Sum:
    int kind
    int ties
    bint by_row
    bint per_retrieved
    Py_ssize_t k
    double prior
    const double* values
    const double* discount  # NULL: 1 at every rank
    double* out


cdef class Plan:
    cdef Sum sum
    cdef readonly object values, discount, by_row, scale, shift
