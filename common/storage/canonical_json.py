"""Canonical bytes and digests of plain documents: RFC 8785 JSON under SHA-256.

Everything that is signed, bound into a sealed blob or compared between parties goes through here, so
that two machines agree on a digest exactly when they agree on the content.
"""

from __future__ import annotations

import base64
import hashlib
import re
from collections.abc import Iterable
from fractions import Fraction
from json.encoder import encode_basestring
from typing import Any

import rfc8785

from privity.common.storage.exact_json import read_exactly

_FRACTION = re.compile(r"[1-9][0-9]{0,299}(/[1-9][0-9]{0,299})?")  # bounded: reading it costs next to nothing


def canonical_bytes(document: Any) -> bytes:
    """RFC 8785 bytes of a document of dicts, lists, strings, booleans, None and integers below 2^53."""
    return rfc8785.dumps(document)


def canonical_texts(texts: Iterable[str]) -> bytes:
    """The canonical bytes of a list of texts, made several times faster than those of any document.

    Raises:
        TypeError: one of them is no text.
    """
    return f"[{','.join(map(encode_basestring, texts))}]".encode()


def digest(document: Any) -> str:
    """SHA-256 over the canonical bytes, in hex."""
    return hashlib.sha256(canonical_bytes(document)).hexdigest()


def parse(data: bytes) -> Any:
    """The document behind canonical bytes; anything that is not exactly canonical is a ValueError."""
    document = read_exactly(data, doubles=True)
    if canonical_bytes(document) != data:
        raise ValueError("the document is not in canonical form")
    return document


def b64(data: bytes) -> str:
    """Bytes as Base64 text."""
    return base64.b64encode(data).decode("ascii")


def unb64(text: str) -> bytes:
    """The bytes of a Base64 text; ValueError if it is none, or not written as ``b64`` does."""
    data = base64.b64decode(text, validate=True)
    if b64(data) != text:
        raise ValueError("not in Base64 as it is written here")
    return data


def fraction_text(value: Fraction) -> str:
    """An exact number as text: ``"1/3"``, ``"2"``."""
    return str(value)


def fraction(text: str) -> Fraction:
    """The inverse of ``str`` for a positive fraction or 0; any other spelling is a ValueError."""
    return Fraction(0) if text == "0" else positive_fraction(text)


def positive_fraction(text: str) -> Fraction:
    """The inverse of ``fraction_text`` for positive numbers; any other spelling is a ValueError."""
    if not _FRACTION.fullmatch(text) or fraction_text(value := Fraction(text)) != text:
        raise ValueError("not a positive number in lowest terms")
    return value


def whole(value: Any) -> int:
    """The value, if it is a whole number of at least 0; anything else is a ValueError."""
    if not isinstance(value, int) or isinstance(value, bool) or value < 0:
        raise ValueError("not a whole number")
    return value
