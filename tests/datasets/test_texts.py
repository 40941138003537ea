"""Texts without an object each are those that were read, whatever their hashes."""

import io

import numpy as np
import pytest

from skgraded.datasets import _texts, _trec
from skgraded.datasets._join import Judged
from skgraded.datasets._texts import Growing, GrowingTexts, Texts
from skgraded.datasets._words import LONG, hashes

WORDS = ["a", "", "é", "x" * 7, "y" * 8, "z" * 9, "日本" * 20, "l" * 500, "a"]


def growing(words, per_block=2):
    found = GrowingTexts()
    for first in range(0, len(words), per_block):
        encoded = [word.encode() for word in words[first : first + per_block]]
        ends = np.cumsum([len(word) + 1 for word in encoded]) - 1
        found.add(b"".join(word + b"\0" for word in encoded), ends)
    return found


def test_hashes_see_every_byte():  # or a large file would be searched for twins at length
    for length in (1, 7, 8, 9, 15, 16, 17, 40):
        ids = [b"x" * (length - 1) + b"%c" % letter for letter in b"abcdefgh"]
        text = b"".join(b"1 0 " + name + b" 1\n" for name in ids)
        starts = np.arange(len(ids)) * (length + 7) + 4
        keys = hashes(text, starts, starts + length)
        assert len(set(keys.tolist())) == len(ids), length


@pytest.mark.parametrize("per_block", [1, 2, 100])
def test_texts_are_read_like_an_array_of_objects(per_block):
    texts = growing(WORDS, per_block).texts()
    assert len(texts) == len(WORDS)
    assert texts[:].tolist() == WORDS and texts[2:4].tolist() == WORDS[2:4]
    assert texts[[7, 0]].tolist() == [WORDS[7], WORDS[0]] and texts[3] == WORDS[3]
    assert texts[np.int32(7)] == WORDS[7]
    some = texts.take(np.array([1, 2, 7]))
    assert some[:].tolist() == [WORDS[1], WORDS[2], WORDS[7]]
    assert some.hashes.tolist() == texts.hashes[[1, 2, 7]].tolist()
    assert texts.hashes[0] == texts.hashes[8] and len(set(texts.hashes.tolist())) == 8


def test_texts_become_objects_piece_by_piece(monkeypatch):
    for letters in (1, 5, 100, 1 << 22):
        monkeypatch.setattr(_texts, "LETTERS", letters)
        assert growing(WORDS).objects().tolist() == WORDS, letters


@pytest.mark.parametrize("length", [1, 7, 8, 9, LONG, LONG + 1, 1000])
def test_the_same_texts_are_known_by_every_letter(length):
    words = ["x" * i + "y" + "x" * (length - i - 1) for i in range(length)]
    one, other = growing(words).texts(), growing(words[::-1], 3).texts()
    rows = np.arange(length)
    assert one.same(rows, other, rows[::-1]) and one.same(rows[:0], other, rows[:0])
    for row in rows[1:]:
        assert not one.same(rows[[0, row]], one, rows[[0, 0]])


def test_a_column_grows_and_takes_a_larger_type():
    column = Growing(np.uint8)
    for numbers in (np.array([1, 255], np.uint8), np.array([256], np.uint16), np.uint8([7])):
        column.add(numbers)
    assert column.array().tolist() == [1, 255, 256, 7] and column.array().dtype == np.uint16


@pytest.mark.parametrize("chance", ["none", "run", "qrels", "query"])
@pytest.mark.parametrize("ties", [None, "trec"])
def test_hashes_that_meet_by_chance_change_no_join(chance, ties):
    qrels = _trec.read_judgments(io.BytesIO(b"1 0 a 2\n1 0 b 1\n2 0 a 3\n2 0 e 1\n"), packed=True)
    text = b"2 Q0 c 1 5 s\n2 Q0 a 1 5 s\n1 Q0 b 1 1 s\n1 Q0 d 1 2 s\n3 Q0 a 1 1 s\n"
    run = _trec.read_table(io.BytesIO(text), _trec.RUN, packed=True)
    if chance == "run":
        run.document.hashes[:] = qrels.document.hashes[0]
    elif chance == "qrels":
        qrels.document.hashes[:] = qrels.document.hashes[0]
    elif chance == "query":  # a hash of another query and document
        run.document.hashes[0] = _unmixed(Judged(qrels)._by_hash[0], 1)
    found = Judged(qrels).join(run, False, False, ties)
    assert found.grade.tolist() == [1, 0, 2, 0, 3, 1] and found.sizes.tolist() == [3, 3]
    assert found.rows.tolist() == [2, 3, 5, 0, 1, 8] and found.unjudged.tolist() == [0, 0, 1]
    first, second = (found.score[a:b] for a, b in ((0, 3), (3, 6)))
    assert first[1] > first[0] > first[2] == -np.inf
    assert second[2] == -np.inf and (second[0] > second[1] if ties else second[0] == second[1])


def _unmixed(key, number):
    """The hash that is mixed with a number to a key."""
    low = int(key)
    low ^= low >> 32
    return np.uint64(low * pow(0x9E3779B97F4A7C15, -1, 2**64) % 2**64 ^ number)


def test_packed_and_plain_tables_are_the_same():
    text = b"1 0 a 2\n\n1 0 b 1\n1 0 a 2\n2 0 a 3\n"
    plain = _trec.read_judgments(io.BytesIO(text))
    packed = _trec.read_judgments(io.BytesIO(text), packed=True)
    assert isinstance(packed.document, Texts)
    assert packed.document[:].tolist() == plain.document.tolist() == ["a", "b", "a"]
    assert [packed.place(row) for row in range(3)] == ["line 1", "line 3", "line 5"]
