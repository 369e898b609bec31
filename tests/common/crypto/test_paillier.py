"""Paillier against fixed vectors and against phe itself. Small keys, for tests only."""

from __future__ import annotations

import json
from concurrent.futures import ThreadPoolExecutor
from math import gcd

import gmpy2
import pytest
from hypothesis import given
from hypothesis import strategies as st
from phe.paillier import PaillierPrivateKey, PaillierPublicKey

from privity.common.crypto import paillier
from privity.common.crypto.fixed_base import MANY, FixedBase
from privity.common.crypto.powers import raise_all
from privity.common.crypto.residues import Exponents, Residues, residue_base
from tests.harness.places import ROOT

VECTORS = json.loads((ROOT / "tests" / "vectors" / "paillier.json").read_text())
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
    assert (
        paillier._encrypt_with(public, numbers("messages"), raise_all(numbers("randomness"), public.n, public.square))
        == ciphertexts
    )
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
    ciphertexts = [paillier._encrypt_with(PUBLIC, [9], raise_all([u], PUBLIC.n, PUBLIC.square))[0] for u in units]
    p, q = int(SECRET.p), int(SECRET.q)

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
        assert str(SECRET.p) not in shown
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


@pytest.mark.parametrize("exponents", Exponents)
def test_ciphertexts_of_every_kind_are_those_of_phe_and_back(exponents: Exponents) -> None:
    residues = Residues(PUBLIC.n, exponents)
    theirs_public = PaillierPublicKey(PUBLIC.n)
    theirs = PaillierPrivateKey(theirs_public, int(SECRET.p), int(SECRET.q))
    values = [0, 1, 77, PUBLIC.n - 5]
    ours = paillier.encrypt(PUBLIC, values, residues)
    assert [theirs.raw_decrypt(c) for c in ours] == values
    given = [theirs_public.raw_encrypt(v) for v in values]
    assert paillier.decrypt(SECRET, given) == values
    both = paillier.rerandomise(PUBLIC, paillier.multiply(PUBLIC, [ours, given]), residues)
    assert paillier.decrypt(SECRET, both) == [2 * v % PUBLIC.n for v in values]
    assert len({*ours, *paillier.encrypt(PUBLIC, values, residues)}) == 8


@pytest.mark.parametrize("bits", [64, 128, 256, 512])
def test_keys_are_made_for_the_scheme(bits: int) -> None:
    public, secret = paillier.generate_keypair(bits, allow_small=True)
    p, q = int(secret.p), int(secret.q)
    assert p % 4 == q % 4 == 3
    assert gcd(p - 1, q - 1) == 2
    assert public.bits == bits
    assert gmpy2.is_prime(p)
    assert gmpy2.is_prime(q)


def test_the_base_is_a_residue_of_full_order_that_everybody_computes() -> None:
    """Encryption of 0, of Jacobi symbol 1, and of order (p-1)(q-1)/2 but for small factors of (p-1)/2 and (q-1)/2."""
    base = residue_base(PUBLIC.n)
    assert paillier.decrypt(SECRET, [base]) == [0]
    assert gmpy2.jacobi(base % PUBLIC.n, PUBLIC.n) == 1
    p, q = int(SECRET.p), int(SECRET.q)
    half = (p - 1) * (q - 1) // 2
    assert pow(base, half, PUBLIC.square) == 1
    assert pow(base, half // 2, PUBLIC.square) != 1  # not a square: the sign is in it


@given(st.integers(2, 10**9), st.integers(3, 10**9), st.integers(1, 40), st.integers(1, 3 * MANY), st.data())
def test_a_table_gives_the_powers(base: int, modulus: int, bits: int, count: int, data) -> None:
    table = FixedBase(base, modulus, bits)
    exponents = [0, 2**bits - 1, data.draw(st.integers(0, 2**bits - 1))] * (1 + count // 3)
    for part in (exponents, exponents[:3]):
        assert table.powers(part) == [pow(base, exponent, modulus) for exponent in part]
    for wrong in (-1, 2**bits):
        with pytest.raises(ValueError, match="at most"):
            table.powers([wrong])


def test_few_and_many_powers_are_the_same_whatever_the_number_of_threads(monkeypatch) -> None:
    monkeypatch.setattr("os.cpu_count", lambda: 5)
    table = FixedBase(7, 10**9 + 7, 64)
    few = table.powers([5, 2**64 - 1])
    many = table.powers([5, 2**64 - 1] * MANY)
    assert many == few * MANY
    assert few == [pow(7, e, 10**9 + 7) for e in (5, 2**64 - 1)]


@pytest.mark.parametrize("exponents", Exponents)
def test_residues_made_ahead_are_handed_out_once(exponents: Exponents) -> None:
    residues = Residues(PUBLIC.n, exponents)
    residues.prepare(5)
    ahead = list(residues._ready)
    assert residues.take(3) == ahead[:3]
    rest = residues.take(6)
    assert rest[:2] == ahead[3:]
    assert residues.ready == 0
    assert len({*ahead, *rest}) == 9
    assert paillier.decrypt(SECRET, [int(r) for r in rest]) == [0] * 6


def test_threads_that_take_at_once_never_share_a_residue() -> None:
    residues = Residues(PUBLIC.n)
    with ThreadPoolExecutor(4) as pool:
        filling = pool.submit(lambda: [residues.prepare(7) for _ in range(30)])
        taken = [pool.submit(lambda: [r for _ in range(20) for r in residues.take(5)]) for _ in range(3)]
        filling.result()
        found = [int(r) for part in taken for r in part.result()]
    assert len(set(found)) == 300


def test_randomness_of_another_key_is_refused() -> None:
    other, _ = paillier.generate_keypair(256, allow_small=True)
    for use in (paillier.encrypt, paillier.rerandomise):
        with pytest.raises(ValueError, match="another key"):
            use(PUBLIC, [1], Residues(other.n))


@given(st.lists(st.integers(0, PUBLIC.n - 1), max_size=5))
def test_decryption_by_remainders_is_that_of_phe(values: list[int]) -> None:
    theirs_public = PaillierPublicKey(PUBLIC.n)
    theirs = PaillierPrivateKey(theirs_public, int(SECRET.p), int(SECRET.q))
    ciphertexts = [theirs_public.raw_encrypt(v) for v in values]
    assert paillier.decrypt(SECRET, ciphertexts) == [theirs.raw_decrypt(c) for c in ciphertexts] == values
