"""A member's keys: files, public halves, signatures in domains."""

from __future__ import annotations

import stat
from pathlib import Path

import pytest
from cryptography.hazmat.primitives import serialization

from privity.common.crypto.identity import Identity, PublicIdentity, sign, verify
from privity.common.errors import PrivityError


def test_saved_keys_are_loaded_and_private_to_the_owner(tmp_path: Path) -> None:
    own = Identity.generate()
    own.save(tmp_path / "keys")
    files = sorted((tmp_path / "keys").iterdir())
    assert [f.name for f in files] == ["agreement.pem", "sealing.pem", "signing.pem"]
    assert all(stat.S_IMODE(f.stat().st_mode) == 0o600 for f in files)
    assert Identity.load(tmp_path / "keys").public() == own.public()


def test_keys_are_never_overwritten(tmp_path: Path) -> None:
    own = Identity.generate()
    own.save(tmp_path)
    (tmp_path / "signing.pem").unlink()
    with pytest.raises(PrivityError, match=r"sealing\.pem.*not overwritten"):
        Identity.generate().save(tmp_path)
    assert not (tmp_path / "signing.pem").exists()


def test_bad_files_are_named(tmp_path: Path) -> None:
    with pytest.raises(PrivityError, match=r"signing\.pem: no such file"):
        Identity.load(tmp_path)
    Identity.generate().save(tmp_path)
    for name in ("signing", "sealing", "agreement"):
        good = (tmp_path / f"{name}.pem").read_bytes()
        wrong = (tmp_path / ("sealing.pem" if name == "signing" else "signing.pem")).read_bytes()
        for content in (b"no key", wrong):
            (tmp_path / f"{name}.pem").write_bytes(content)
            with pytest.raises(PrivityError, match=rf"{name}\.pem: expected") as caught:
                Identity.load(tmp_path)
            assert caught.value.code == "file-unreadable"
        (tmp_path / f"{name}.pem").write_bytes(good)
    assert Identity.load(tmp_path)


def test_public_identities_travel_as_text() -> None:
    public = Identity.generate().public()
    assert PublicIdentity.from_dict(public.to_dict()) == public
    assert public.sealing_key.public_bytes_raw() == public.sealing
    assert public.agreement_key.public_bytes_raw() == public.agreement
    for bad in ({}, {**public.to_dict(), "sealing": "???"}, {**public.to_dict(), "signing": 5}):
        with pytest.raises(ValueError, match="base64"):
            PublicIdentity.from_dict(bad)  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="32 bytes"):
        PublicIdentity.from_dict({**public.to_dict(), "sealing": "AAAA"})


def test_text_forms_show_no_secret() -> None:
    own = Identity.generate()
    shown = repr(own) + str(own)
    for key in (own.signing, own.sealing, own.agreement):
        secret = key.private_bytes(
            serialization.Encoding.Raw, serialization.PrivateFormat.Raw, serialization.NoEncryption()
        )
        assert secret.hex() not in shown
    assert own.public().to_dict()["signing"] in shown


def test_a_signature_holds_for_its_key_message_and_domain_only() -> None:
    own, other = Identity.generate(), Identity.generate()
    signature = sign(own.signing, "manifest", b"text")
    verify(own.public().signing_key, "manifest", b"text", signature)
    for key, domain, message, made in (
        (other, "manifest", b"text", signature),
        (own, "receipt", b"text", signature),
        (own, "manifest", b"texts", signature),
        (own, "manifest", b"text", signature[:-1]),
        (own, "manifest", b"text", b""),
    ):
        with pytest.raises(ValueError, match="signature"):
            verify(key.public().signing_key, domain, message, made)
