"""Sealed blobs open in their place only, and the signature is checked first."""

from __future__ import annotations

import json

import pytest
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey
from cryptography.hazmat.primitives.asymmetric.x25519 import X25519PrivateKey

from privity.common.crypto import sealing
from privity.common.crypto.identity import Identity
from privity.common.crypto.sealing import SealedBlob, open_sealed, seal
from tests.harness.places import ROOT

VECTORS = json.loads((ROOT / "tests" / "vectors" / "sealing.json").read_text())
RECIPIENT = X25519PrivateKey.from_private_bytes(bytes.fromhex(VECTORS["recipient_private"]))
SENDER = Ed25519PublicKey.from_public_bytes(bytes.fromhex(VECTORS["sender_public"]))


def open_case(case: dict) -> bytes:
    blob = SealedBlob(bytes.fromhex(case["ciphertext"]), bytes.fromhex(case["signature"]))
    return open_sealed(blob, RECIPIENT, bytes.fromhex(case["context"]), SENDER)


@pytest.mark.parametrize("case", VECTORS["good"], ids=lambda c: c["name"])
def test_good_vectors(case: dict) -> None:
    assert VECTORS["format_version"] == 1
    assert open_case(case).hex() == VECTORS["plaintext"]


@pytest.mark.parametrize("case", VECTORS["bad"], ids=lambda c: c["name"])
def test_bad_vectors(case: dict) -> None:
    with pytest.raises(ValueError, match=case["reason"]):
        open_case(case)


@pytest.mark.parametrize("plaintext", [b"", b"short", bytes(300_000)])
def test_round_trip(plaintext: bytes) -> None:
    sender, recipient = Identity.generate(), Identity.generate()
    blob = seal(plaintext, recipient.public().sealing_key, b"here", sender.signing)
    assert open_sealed(blob, recipient.sealing, b"here", sender.public().signing_key) == plaintext
    again = seal(plaintext, recipient.public().sealing_key, b"here", sender.signing)
    assert again.ciphertext != blob.ciphertext


def test_nothing_is_opened_before_the_signature_holds(monkeypatch: pytest.MonkeyPatch) -> None:
    class Closed:
        def decrypt(self, *_: object) -> bytes:
            raise AssertionError("opened before the signature was checked")

    monkeypatch.setattr(sealing, "_SUITE", Closed())
    for case in VECTORS["bad"]:
        if case["reason"] == "bad signature":
            with pytest.raises(ValueError, match="bad signature"):
                open_case(case)


def test_context_and_ciphertext_cannot_trade_bytes() -> None:
    """The length of the context is signed: bytes cannot move over the border between the two."""
    sender, recipient = Identity.generate(), Identity.generate()
    blob = seal(b"x", recipient.public().sealing_key, b"ab", sender.signing)
    moved = SealedBlob(b"b" + blob.ciphertext, blob.signature)
    with pytest.raises(ValueError, match="bad signature"):
        open_sealed(moved, recipient.sealing, b"a", sender.public().signing_key)
