"""Canonical bytes of texts, which the chain of a ledger is made of, are those of any document."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from privity.common.storage.canonical_json import canonical_bytes, canonical_texts

TEXTS = st.lists(
    st.text(st.characters(exclude_categories=["Cs"])) | st.text('\x00\x08\t\n\f\r\x1f"\\/\x7f\u2028\U0001f600')
)


@given(TEXTS)
def test_a_list_of_texts_has_the_same_bytes_either_way(texts):
    assert canonical_texts(texts) == canonical_bytes(texts)


@pytest.mark.parametrize("other", [b"a", None, 1])
def test_what_is_no_text_is_refused(other):
    with pytest.raises(TypeError):
        canonical_texts(["a", other])


def test_a_half_of_a_character_is_refused():
    with pytest.raises(ValueError, match="surrogates not allowed"):
        canonical_texts(["\ud800"])
