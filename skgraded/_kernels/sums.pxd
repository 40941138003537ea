"""The plan of a measure, which other kernels read."""


cdef struct Sum:
    int kind  # LINEAR, PAIR, …
    int ties  # AVERAGE, ORDINAL, BEST or WORST
    bint by_row  # whether each row has its own discount
    bint per_retrieved  # divide the sum by the number of retrieved documents, at most k
    Py_ssize_t k  # depth
    double prior  # the count of a tied document in ABOVE
    const double* values  # one per level of each query
    const double* discount  # of ranks 1, 2, …; if NULL, 1 at every rank
    double* out


cdef class Plan:
    cdef Sum sum
    cdef readonly object values, discount, scale, shift
