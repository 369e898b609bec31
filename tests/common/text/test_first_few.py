import pytest

from privity.common.text.first_few import first_few


@pytest.mark.parametrize(
    ("texts", "words"),
    [
        ([], ""),
        (["a"], "a"),
        (["a", "b"], "a; b"),
        (["a", "b", "c"], "a; b and 1 more"),
        (["a"] * 2000, "a; a and 1,998 more"),
    ],
)
def test_the_rest_is_counted(texts, words):
    assert first_few(texts, 2, "; ") == words
