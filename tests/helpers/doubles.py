"""Numbers of all magnitudes."""

import numpy as np


def doubles(n):
    """Return n finite floats: extreme values, then values with random bit patterns."""
    bits = np.random.default_rng(0).integers(2**64, size=n + n // 100, dtype=np.uint64)
    values = bits.view(np.float64)
    extremes = [
        5e-324,
        2.2250738585072009e-308,
        2.2250738585072014e-308,
        1.7976931348623157e308,
        0.00010008711588209878,
        0.1,
        -0.0,
        1e22,
        1e23,
        2.0**53 + 2,
        9007199254740993.0,
    ]
    return extremes + values[np.isfinite(values)][: n - len(extremes)].tolist()
