"""Codes in words, and out of them again."""

import duckdb
import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from privity.party.sources.packed_codes import MOST, taken_apart, word_sql, words


@given(st.lists(st.one_of(st.integers(1, 40), st.integers(1, 2**33)), min_size=1, max_size=30), st.randoms())
def test_what_goes_in_comes_out(sizes, random):
    rows = [[random.choice([0, size - 1, random.randrange(size)]) for size in sizes] for _ in range(20)]
    packed = []
    for places in words(sizes):
        word = [0] * len(rows)
        for place in places:
            word = [held * sizes[place] + row[place] for held, row in zip(word, rows, strict=True)]
        assert max(word) < MOST
        packed.append(np.array(word, dtype=np.int64))
    for place, codes in enumerate(taken_apart(packed, sizes)):
        assert codes.tolist() == [row[place] for row in rows]
        assert codes.dtype == np.min_scalar_type(sizes[place] - 1)


def test_a_database_makes_the_same_words():
    sizes = [12, 2**31, 2**31, 7]
    assert words(sizes) == [[0, 1], [2, 3]]
    row = [11, 2**31 - 1, 5, 6]
    names = [f"a{place}" for place in range(len(sizes))]
    given_row = ", ".join(f"CAST({code} AS INTEGER) AS {name}" for code, name in zip(row, names, strict=True))
    made = ", ".join(
        word_sql([names[place] for place in some], [sizes[place] for place in some]) for some in words(sizes)
    )
    with duckdb.connect() as connection:
        found = connection.execute(f"SELECT {made} FROM (SELECT {given_row}) AS coded").fetchone()
    assert found is not None
    assert [codes.tolist() for codes in taken_apart([np.array([word]) for word in found], sizes)] == [[c] for c in row]
