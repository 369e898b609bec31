"""Paillier against fixed vectors and against phe itself. Small keys, for tests only."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from phe.paillier import PaillierPrivateKey, PaillierPublicKey

from common.crypto import paillier

VECTORS = json.loads((Path(__file__).parents[1] / "vectors" / "paillier.json").read_text())
PUBLIC, SECRET = paillier.generate_keypair(256, allow_small=True)


def numbers(name: str) -> list[int]:
    return [int(v) for v in VECTORS[name]]


@pytest.fixture
def fixed() -> tuple[paillier.PublicKey, paillier.SecretKey]:
    public = paillier.PublicKey(int(VECTORS["n"]), allow_small=True)
    return public, paillier.SecretKey(public, int(VECTORS["p"]), int(VECTORS["q"]))


def test_vectors(fixed: tuple[paillier.PublicKey, paillier.SecretKey]) -> None:
    assert VECTORS["format_version"] == 1
    public, secret = fixed
    assert public.key_id == VECTORS["key_id"]
    ciphertexts = numbers("ciphertexts")
    assert paillier._encrypt_with(public, numbers("messages"), numbers("randomness")) == ciphertexts
    assert paillier.decrypt(secret, ciphertexts) == numbers("messages")
    assert paillier.ciphertexts_to_bytes(public, ciphertexts).hex() == VECTORS["bytes"]
    assert paillier.ciphertexts_from_bytes(public, bytes.fromhex(VECTORS["bytes"])) == ciphertexts
    product = paillier.multiply(public, [ciphertexts[:3], ciphertexts[3:]])
    assert product == numbers("product_of_halves")
    assert paillier.decrypt(secret, product) == numbers("sums_of_halves")


def test_vectors_with_phe_alone() -> None:
    public = PaillierPublicKey(int(VECTORS["n"]))
    secret = PaillierPrivateKey(public, int(VECTORS["p"]), int(VECTORS["q"]))
    for m, r, c in zip(numbers("messages"), numbers("randomness"), numbers("ciphertexts"), strict=True):
        assert public.raw_encrypt(m, r_value=r) == c
        assert secret.raw_decrypt(c) == m


@pytest.mark.parametrize("bad", VECTORS["bad"], ids=lambda b: b["name"])
def test_invalid_ciphertexts_are_refused_everywhere(bad: dict, fixed: tuple) -> None:
    public, secret = fixed
    spoilt = [numbers("ciphertexts")[0], int(bad["ciphertext"])]
    for use in (
        lambda: paillier.check_ciphertexts(public, spoilt),
        lambda: paillier.multiply(public, [spoilt, spoilt]),
        lambda: paillier.rerandomise(public, spoilt),
        lambda: paillier.decrypt(secret, spoilt),
        lambda: paillier.ciphertexts_to_bytes(public, spoilt),
    ):
        with pytest.raises(ValueError, match="a ciphertext must"):
            use()


def test_signed_values_are_residues_and_sums_wrap_into_them() -> None:
    values = [-3, 0, 5, PUBLIC.n - 1, -(PUBLIC.n // 2)]
    first, second = paillier.encrypt(PUBLIC, values), paillier.encrypt(PUBLIC, [1, -1, 2, 7, -1])
    total = paillier.decrypt(SECRET, paillier.multiply(PUBLIC, [first, second]))
    assert total == [PUBLIC.n - 2, PUBLIC.n - 1, 7, 6, (-(PUBLIC.n // 2) - 1) % PUBLIC.n]
    assert paillier.encrypt(PUBLIC, []) == []


def test_every_ciphertext_is_fresh_and_rerandomising_keeps_the_value() -> None:
    ciphertexts = paillier.encrypt(PUBLIC, [4] * 20)
    again = paillier.rerandomise(PUBLIC, ciphertexts)
    assert len({*ciphertexts, *again}) == 40
    assert paillier.decrypt(SECRET, again) == [4] * 20


def test_the_key_holder_cannot_trace_a_rerandomised_product() -> None:
    """It recovers the randomness of what it decrypts; after rerandomising this is no known product."""
    units = [12345, 67890]
    ciphertexts = [paillier._encrypt_with(PUBLIC, [9], [u])[0] for u in units]
    p, q = int(SECRET._phe.p), int(SECRET._phe.q)

    def randomness(c: int) -> int:
        n = PUBLIC.n
        return pow(c % n, pow(n, -1, (p - 1) * (q - 1)), n)

    plain = paillier.multiply(PUBLIC, [[c] for c in ciphertexts])
    assert randomness(plain[0]) == units[0] * units[1] % PUBLIC.n
    assert randomness(paillier.rerandomise(PUBLIC, plain)[0]) != units[0] * units[1] % PUBLIC.n


def test_small_keys_need_an_explicit_word() -> None:
    with pytest.raises(ValueError, match="2048"):
        paillier.generate_keypair(1024)
    with pytest.raises(ValueError, match="2048"):
        paillier.PublicKey(PUBLIC.n)
    with pytest.raises(ValueError, match="2048"):
        paillier.secret_from_dict(paillier.secret_to_dict(SECRET))
    with pytest.raises(ValueError, match="even"):
        paillier.generate_keypair(3071)
    with pytest.raises(ValueError, match="odd"):
        paillier.PublicKey(2**3071)


def test_stored_secret_keys() -> None:
    stored = paillier.secret_to_dict(SECRET)
    again = paillier.secret_from_dict(json.loads(json.dumps(stored)), allow_small=True)
    assert again.public == PUBLIC
    assert paillier.decrypt(again, paillier.encrypt(PUBLIC, [77])) == [77]
    for shown in (repr(SECRET), str(SECRET), repr(vars(SECRET)), repr(PUBLIC)):
        assert stored["p"] not in shown
        assert str(SECRET._phe.p) not in shown
    for bad in ({}, {"p": "x", "q": "1"}, {"p": stored["p"]}, {"p": stored["p"], "q": stored["p"]}):
        with pytest.raises(ValueError, match="secret key"):
            paillier.secret_from_dict(bad, allow_small=True)
    with pytest.raises(ValueError, match="belong"):
        paillier.SecretKey(PUBLIC, 3, 5)
    with pytest.raises(ValueError, match="belong"):
        paillier.SecretKey(paillier.PublicKey(9 * 15, allow_small=True), 9, 15)


def test_shapes_and_ranges() -> None:
    with pytest.raises(ValueError, match="same length"):
        paillier.multiply(PUBLIC, [])
    with pytest.raises(ValueError, match="same length"):
        paillier.multiply(PUBLIC, [[1], [1, 1]])
    for value in (PUBLIC.n, -PUBLIC.n // 2 - 1):
        with pytest.raises(ValueError, match="plaintext"):
            paillier.encrypt(PUBLIC, [value])
    with pytest.raises(ValueError, match="multiple"):
        paillier.ciphertexts_from_bytes(PUBLIC, bytes(PUBLIC.ciphertext_bytes + 1))
    with pytest.raises(ValueError, match="between"):
        paillier.ciphertexts_from_bytes(PUBLIC, bytes(PUBLIC.ciphertext_bytes))
