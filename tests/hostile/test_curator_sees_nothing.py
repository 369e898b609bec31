"""A recorder of everything that the curator's process receives, and an attacker with the run's key.

Real gRPC over real TLS. The attacker slides over every byte string that came in, takes each window as a
Paillier ciphertext, decrypts it, and looks for a plaintext that one party encrypted. A build with sealing
switched off must be caught by the same attacker: that shows that it can catch.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from dataclasses import dataclass, field
from fractions import Fraction
from pathlib import Path

import grpc.aio
import numpy as np
import pytest

from privity.common.crypto import paillier
from privity.common.crypto.masks import PairwiseMasks
from privity.common.protocol import secure_sum
from privity.common.protocol.block_sums import MaskedSum
from privity.common.protocol.run_spec import RunPlan
from privity.common.protocol.secure_sum_method import MASKS
from privity.common.protocol.steps import Done, Sealed, Sum
from privity.common.wire.codec import decode_reply
from tests.harness.consortium import KEY_BITS, make_consortium
from tests.harness.network import NetworkConsortium
from tests.harness.steps import pure

pytestmark = pytest.mark.process


class Wiretap(grpc.aio.ServerInterceptor):
    """Keeps every request message that reaches the curator's server, as bytes."""

    def __init__(self) -> None:
        self.messages: list[bytes] = []

    async def intercept_service(self, continuation, details):
        handler = await continuation(details)
        inner = handler.request_deserializer

        def keep(data: bytes):
            self.messages.append(data)
            return inner(data)

        return handler._replace(request_deserializer=keep)


class Plaintexts:
    """What parties encrypt: notes every plaintext on its way into the encryption."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.masked: list[list[int]] = []
        self.products: list[list[int]] = []
        encrypt, rerandomise = paillier.encrypt, paillier.rerandomise

        def noting_encrypt(public, values, residues):
            self.masked.append(list(values))
            return encrypt(public, values, residues)

        def noting_rerandomise(public, ciphertexts, residues):
            product = rerandomise(public, ciphertexts, residues)
            self.products.append(product)
            return product

        monkeypatch.setattr(paillier, "encrypt", noting_encrypt)
        monkeypatch.setattr(paillier, "rerandomise", noting_rerandomise)


def windows(messages: list[bytes], width: int) -> Iterator[int]:
    """Every ``width`` bytes of the conversation as a number; replies in chunks are joined first."""
    for message in [*messages, b"".join(messages)]:
        for start in range(len(message) - width + 1):
            yield int.from_bytes(message[start : start + width], "big")


def decrypted_plaintexts(messages: list[bytes], secret: paillier.SecretKey, wanted: set[int]) -> set[int]:
    """Those of the wanted plaintexts that come out of some window under the run's key."""
    public = secret.public
    found = set()
    for number in windows(messages, public.ciphertext_bytes):
        # High bytes of a valid ciphertext are not all zero; a cheap filter for the many windows that are none.
        if not 0 < number < public.square:
            continue
        try:
            (value,) = paillier.decrypt(secret, [number])
        except ValueError:
            continue
        if value in wanted:
            found.add(value)
    return found


async def one_round(folder: Path, wiretap: Wiretap) -> paillier.SecretKey:
    consortium = make_consortium(domain=(2, 2), rows=20, key_bits=KEY_BITS)
    async with NetworkConsortium(folder, consortium, interceptors=(wiretap,)) as network:
        plan: RunPlan = await network.begin()
        session = network.session(plan)
        await session.measure("test", [(0, 1)], pure(Fraction(1)))
    return consortium.secret


def run_attack(folder: Path, monkeypatch: pytest.MonkeyPatch) -> tuple[set[int], set[int], list[bytes]]:
    """(plaintexts of single parties that the attacker found, opened ones that it found, messages)."""
    wiretap, plaintexts = Wiretap(), Plaintexts(monkeypatch)
    secret = asyncio.run(one_round(folder, wiretap))
    assert len(plaintexts.masked) == 3, "each party encrypts once"
    of_parties = {value for values in plaintexts.masked for value in values}
    (product,) = plaintexts.products
    opened = set(paillier.decrypt(secret, product))
    found = decrypted_plaintexts(wiretap.messages, secret, of_parties | opened)
    return found & of_parties, found & opened, wiretap.messages


def test_nothing_of_one_party_can_be_decrypted(tmp_path, monkeypatch) -> None:
    of_parties, opened, messages = run_attack(tmp_path, monkeypatch)
    assert opened, "the attacker does not even find the product that the curator is meant to open"
    assert len(messages) > 3
    assert of_parties == set()


def test_without_sealing_the_attacker_finds_the_parties(tmp_path, monkeypatch) -> None:
    """The mutated build: payloads travel signed but in the clear."""
    seal, opened = secure_sum.sealing.seal, secure_sum.sealing.open_sealed

    def no_seal(payload, recipient, context, signer):
        blob = seal(b"", recipient, context, signer)
        return type(blob)(payload, blob.signature)

    monkeypatch.setattr(secure_sum.sealing, "seal", no_seal)
    monkeypatch.setattr(secure_sum.sealing, "open_sealed", lambda blob, *_rest: blob.ciphertext)
    of_parties, _, _ = run_attack(tmp_path, monkeypatch)
    assert opened
    assert of_parties, "the recorder cannot catch a leak"


def test_without_sealing_and_masks_one_partys_counts_come_out(tmp_path, monkeypatch) -> None:
    """What both layers protect: with neither, the curator reads a party's own noisy counts."""
    monkeypatch.setattr(secure_sum.sealing, "open_sealed", lambda blob, *_rest: blob.ciphertext)
    monkeypatch.setattr(
        secure_sum.sealing, "seal", lambda payload, *_rest: secure_sum.sealing.SealedBlob(payload, bytes(64))
    )
    monkeypatch.setattr(PairwiseMasks, "residues", lambda _self, _modulus, count: [0] * count)
    of_parties, _, _ = run_attack(tmp_path, monkeypatch)
    assert len(of_parties) >= 2


@dataclass
class Noted:
    """What passed under masks alone, as bytes: each party's bare vector, its payload, and the sums."""

    bare: list[bytes] = field(default_factory=list)
    payloads: list[bytes] = field(default_factory=list)
    sums: list[bytes] = field(default_factory=list)
    heard: bytes = b""


def masked_round(folder: Path, monkeypatch: pytest.MonkeyPatch) -> Noted:
    """A round under masks, listened to."""
    noted, wiretap = Noted(), Wiretap()
    conceal, add = MaskedSum.conceal, MaskedSum.add

    def noting_conceal(self, values, block, masks):
        payload = conceal(self, values, block, masks)
        noted.bare.append(values.astype("<i8").tobytes())
        noted.payloads.append(payload)
        return payload

    def noting_add(self, payloads, block):
        noted.sums.append(add(self, payloads, block))
        return noted.sums[-1]

    monkeypatch.setattr(MaskedSum, "conceal", noting_conceal)
    monkeypatch.setattr(MaskedSum, "add", noting_add)

    async def scenario() -> None:
        consortium = make_consortium(domain=(5, 5), rows=20)
        async with NetworkConsortium(folder, consortium, interceptors=(wiretap,)) as network:
            plan = await network.begin(consortium.spec(secure_sum=MASKS))
            await network.session(plan).measure("test", [(0, 1)], pure(Fraction(1)))

    asyncio.run(scenario())
    noted.heard = b"".join(wiretap.messages)
    assert (len(noted.bare), len(noted.sums)) == (3, 1)
    return noted


def test_under_masks_the_curator_hears_the_sum_and_nothing_of_one_party(tmp_path, monkeypatch) -> None:
    noted = masked_round(tmp_path, monkeypatch)
    assert noted.sums[0] in noted.heard, "the attacker does not even find the sum that is meant for the curator"
    assert not any(part in noted.heard for part in noted.bare + noted.payloads)


@pytest.mark.parametrize("masked", [True, False])
def test_without_sealing_masks_still_hide_a_party_and_without_both_it_is_found(tmp_path, monkeypatch, masked) -> None:
    monkeypatch.setattr(secure_sum.sealing, "open_sealed", lambda blob, *_rest: blob.ciphertext)
    monkeypatch.setattr(
        secure_sum.sealing, "seal", lambda payload, *_rest: secure_sum.sealing.SealedBlob(payload, bytes(64))
    )
    if not masked:
        monkeypatch.setattr(PairwiseMasks, "words", lambda _self, count: np.zeros(count, dtype=np.uint64))
    noted = masked_round(tmp_path, monkeypatch)
    assert all(part in noted.heard for part in noted.payloads), "the recorder cannot catch a leak"
    assert all((part in noted.heard) == (not masked) for part in noted.bare)


def test_the_journal_of_the_curator_holds_products_only(tmp_path) -> None:
    """What the curator keeps of a round: sealed blobs until its one product is there, that until it is opened."""
    consortium = make_consortium(folder=tmp_path)
    plan = consortium.begin()
    kept: dict[str, bytes] = {}
    store = consortium.journal._store

    def remembering(key: str, digest: str, payload: bytes, at: float) -> bool:
        kept[key] = payload
        return store(key, digest, payload, at)

    consortium.journal._store = remembering
    asyncio.run(consortium.session(plan).measure("test", [(0, 1)], pure(Fraction(1))))
    (product,) = [payload for key, payload in kept.items() if key.startswith("run-1/sum/")]
    assert len(product) == consortium.public.ciphertext_bytes
    answers = [decode_reply(payload)[2] for key, payload in kept.items() if key.startswith("run-1/answer/")]
    assert {type(answer) for answer in answers} == {Done, Sealed, Sum}
    left = {"/".join(key.split("/")[1:3]) for key in consortium.journal.keys("run-1/")}
    assert left == {"answer/contribute", "answer/revealed", "revealed/1-test"}
    for key, payload in kept.items():
        if key.startswith(("run-1/sum/", "run-1/answer/seal/")):
            assert all(payload not in file.read_bytes() for file in tmp_path.glob("curator.sqlite*"))
