import pytest

from privity.common.text.first_few import FEW, first_few


@pytest.mark.parametrize(
    ("texts", "words"),
    [
        ([], ""),
        (["a"], "a"),
        (["a", "b"], "a; b"),
        (["a"] * FEW, "; ".join("a" * FEW)),
        (["a"] * (FEW + 1), "; ".join("a" * FEW) + " and 1 more"),
        (["a"] * 2000, "; ".join("a" * FEW) + " and 1,990 more"),
    ],
)
def test_the_rest_is_counted(texts, words):
    assert first_few(texts, "; ") == words
