"""Canonical bytes and digests of plain documents: RFC 8785 JSON under SHA-256.

Everything that is signed, bound into a sealed blob or compared between parties goes through here, so
that two machines agree on a digest exactly when they agree on the content.
"""

from __future__ import annotations

import base64
import hashlib
import json
from fractions import Fraction
from typing import Any

import rfc8785


def canonical_bytes(document: Any) -> bytes:
    """RFC 8785 bytes of a document of dicts, lists, strings, booleans, None and integers below 2^53."""
    return rfc8785.dumps(document)


def digest(document: Any) -> str:
    """SHA-256 over the canonical bytes, in hex."""
    return hashlib.sha256(canonical_bytes(document)).hexdigest()


def parse(data: bytes) -> Any:
    """The document behind canonical bytes; anything that is not exactly canonical is a ValueError."""
    document = json.loads(data)
    if canonical_bytes(document) != data:
        raise ValueError("the document is not in canonical form")
    return document


def b64(data: bytes) -> str:
    return base64.b64encode(data).decode("ascii")


def unb64(text: str) -> bytes:
    return base64.b64decode(text, validate=True)


def fraction_text(value: Fraction) -> str:
    """An exact number as text: ``"1/3"``, ``"2"``."""
    return str(value)
