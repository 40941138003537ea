"""Hashes of documents see every byte, or a large file would be searched for twins at length."""

import numpy as np
import pytest

from skgraded.datasets._words import hashes


@pytest.mark.parametrize("length", [1, 7, 8, 9, 15, 16, 17, 40])
def test_ids_that_share_all_but_their_last_byte_have_hashes_of_their_own(length):
    ids = [b"x" * (length - 1) + b"%c" % letter for letter in b"abcdefgh"]
    text = b"".join(b"1 0 " + name + b" 1\n" for name in ids)
    starts = np.arange(len(ids)) * (length + 7) + 4
    keys = hashes(text, starts, starts + length)
    assert len(set(keys.tolist())) == len(ids)
