"""Writes the test vectors of this folder: `python tests/vectors/generate.py [FOLDER]`.

Everything is computed here a second time, slowly and plainly, without the modules under test. The output
is the same on every run.
"""

from __future__ import annotations

import hashlib
import hmac
import json
import math
import struct
import sys
from fractions import Fraction
from pathlib import Path

from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from cryptography.hazmat.primitives.asymmetric.x25519 import X25519PrivateKey, X25519PublicKey
from cryptography.hazmat.primitives.ciphers import Cipher, algorithms
from cryptography.hazmat.primitives.ciphers.aead import ChaCha20Poly1305

FORMAT_VERSION = 1


def packing() -> dict:
    """Sums of powers, one value after another."""

    def by_hand(values: list[int], width: int, slots: int) -> list[int]:
        groups = [values[i : i + slots] for i in range(0, len(values), slots)]
        return [sum(x * 2 ** (width * i) for i, x in enumerate(group)) for group in groups]

    n = 2**127 + 2**100 + 1  # any odd number of 128 bits serves
    layout = {"cells": 7, "width": 18, "slots": 4, "modulus_bits": 128}
    top = 2**17 - 1
    good = []
    for name, values in {
        "zeros": [0] * 7,
        "small": [1, 2, 3, 4, 5, 6, 7],
        "signs": [-1, 1, -2, 2, -3, 3, -4],
        "all_lowest": [-top] * 7,
        "all_highest": [top] * 7,
        "edges_alternate": [top, -top, top, -top, top, -top, top],
    }.items():
        packed = by_hand(values, 18, 4)
        good.append(
            {
                "name": name,
                "values": values,
                "packed": [str(v) for v in packed],
                "residues": [str(v % n) for v in packed],
            }
        )
    zero = ["0", "0"]
    bad = [
        {"name": "bad_digit_minus_half", "residues": [str(-(2**17) % n), "0"]},
        {"name": "bad_above_top_slot", "residues": [str(2 ** (18 * 4)), "0"]},
        {"name": "bad_below_bottom", "residues": [str(-(2 ** (18 * 4)) % n), "0"]},
        {"name": "bad_unmasked_noise", "residues": [str(n // 2), "0"]},
        {"name": "bad_unused_slot_filled", "residues": ["0", str(2 ** (18 * 3))]},
        {"name": "bad_not_a_residue", "residues": [str(n), "0"]},
        {"name": "bad_negative", "residues": ["-1", "0"]},
        {"name": "bad_too_few", "residues": zero[:1]},
        {"name": "bad_too_many", "residues": [*zero, "0"]},
    ]
    return {"layout": layout, "n": str(n), "good": good, "bad": bad}


def slot_widths() -> dict:
    """The two bounds in floating point, with true logarithms and a fine grid for theta."""
    cases = []
    for rows, scale, cells, parties, tolerate in [
        (50_000, "112", 30_000, 3, 1),
        (5_000_000, "4800", 30_000, 3, 1),
        (1_000_000_000, "40000", 30_000, 3, 1),
        (50_000, "112", 30_000, 50, 49),
        (1, "1/3", 1, 2, 1),
        (1, "100000", 10, 200, 199),
        (1_000, "7001/13", 5_000, 10, 1),
        (2_000_000, "1000000", 1_000_000, 20, 19),
    ]:
        b = float(Fraction(scale))
        t = b * (math.log(2 * cells) + 80 * math.log(2))
        usual = 2 + math.ceil(math.log2(rows + 2 * t))
        shape = parties / (parties - tolerate)
        events = math.log(2 * cells * (parties + 1)) + 80 * math.log(2)
        reach = min(
            b / theta * (-shape * math.log(1 - theta**2) + events)
            for theta in (1 - 2 ** (-j / 8) for j in range(1, 200))
        )
        proved = 1 + math.ceil(math.log2(rows + reach))
        cases.append(
            {
                "rows": rows,
                "scale": scale,
                "cells": cells,
                "parties": parties,
                "tolerate": tolerate,
                "width": max(usual, proved),
            }
        )
    return {"cases": cases}


def paillier() -> dict:
    """The textbook formula with Python's own pow."""

    def next_prime(start: int) -> int:
        candidate = start | 1
        while any(candidate % f == 0 for f in range(3, 1000, 2)) or pow(2, candidate - 1, candidate) != 1:
            candidate += 2
        return candidate

    p, q = next_prime(2**127 + 12345), next_prime(2**127 + 2**126 + 678)
    n = p * q
    messages = [0, 1, n - 1, 123456789, -5 % n, n // 2]
    units = [int.from_bytes(hashlib.sha512(f"unit {i}".encode()).digest(), "big") % n for i in range(6)]
    ciphertexts = [(1 + n * m) * pow(r, n, n * n) % (n * n) for m, r in zip(messages, units, strict=True)]
    lists = [ciphertexts[:3], ciphertexts[3:]]
    product = [a * b % (n * n) for a, b in zip(*lists, strict=True)]
    sums = [(a + b) % n for a, b in zip(messages[:3], messages[3:], strict=True)]
    width = (2 * n.bit_length() + 7) // 8
    return {
        "p": str(p),
        "q": str(q),
        "n": str(n),
        "key_id": hashlib.sha256(n.to_bytes((n.bit_length() + 7) // 8, "big")).hexdigest(),
        "messages": [str(m) for m in messages],
        "randomness": [str(r) for r in units],
        "ciphertexts": [str(c) for c in ciphertexts],
        "bytes": "".join(c.to_bytes(width, "big").hex() for c in ciphertexts),
        "product_of_halves": [str(c) for c in product],
        "sums_of_halves": [str(s) for s in sums],
        "bad": [
            {"name": "bad_zero", "ciphertext": "0"},
            {"name": "bad_negative", "ciphertext": "-1"},
            {"name": "bad_n_squared", "ciphertext": str(n * n)},
            {"name": "bad_n", "ciphertext": str(n)},
            {"name": "bad_multiple_of_p", "ciphertext": str(5 * p)},
        ],
    }


def extract(salt: bytes, data: bytes) -> bytes:
    """HKDF-Extract with SHA-256 (RFC 5869)."""
    return hmac.new(salt or bytes(32), data, hashlib.sha256).digest()


def expand(key: bytes, info: bytes, length: int) -> bytes:
    """HKDF-Expand with SHA-256 for at most 32 bytes (RFC 5869)."""
    return hmac.new(key, info + b"\x01", hashlib.sha256).digest()[:length]


def hpke_base(plaintext: bytes, recipient: X25519PublicKey, info: bytes, once: X25519PrivateKey) -> bytes:
    """RFC 9180 base mode, one shot, with a given ephemeral key."""
    kem, suite = b"KEM\x00\x20", b"HPKE\x00\x20\x00\x01\x00\x03"

    def labeled_extract(suite_id: bytes, salt: bytes, label: bytes, data: bytes) -> bytes:
        return extract(salt, b"HPKE-v1" + suite_id + label + data)

    def labeled_expand(suite_id: bytes, key: bytes, label: bytes, data: bytes, length: int) -> bytes:
        return expand(key, length.to_bytes(2, "big") + b"HPKE-v1" + suite_id + label + data, length)

    encapsulated = once.public_key().public_bytes_raw()
    key = labeled_extract(kem, b"", b"eae_prk", once.exchange(recipient))
    both = encapsulated + recipient.public_bytes_raw()
    shared = labeled_expand(kem, key, b"shared_secret", both, 32)
    context = b"\x00" + labeled_extract(suite, b"", b"psk_id_hash", b"")
    context += labeled_extract(suite, b"", b"info_hash", info)
    secret = labeled_extract(suite, shared, b"secret", b"")
    aead_key = labeled_expand(suite, secret, b"key", context, 32)
    nonce = labeled_expand(suite, secret, b"base_nonce", context, 12)
    return encapsulated + ChaCha20Poly1305(aead_key).encrypt(nonce, plaintext, b"")


def sealing() -> dict:
    """A blob made by hand, and spoilt copies of it."""
    recipient = X25519PrivateKey.from_private_bytes(hashlib.sha256(b"recipient").digest())
    sender = Ed25519PrivateKey.from_private_bytes(hashlib.sha256(b"sender").digest())
    other = Ed25519PrivateKey.from_private_bytes(hashlib.sha256(b"other").digest())
    once = X25519PrivateKey.from_private_bytes(hashlib.sha256(b"once").digest())
    context, plaintext = b"run 1, round 2, from a to b", b"what nobody else may read"
    ciphertext = hpke_base(plaintext, recipient.public_key(), context, once)

    def signed(key: Ed25519PrivateKey, context: bytes, ciphertext: bytes) -> bytes:
        domain = b"sealed blob v1"
        content = hashlib.sha256(len(context).to_bytes(8, "big") + context + ciphertext).digest()
        return key.sign(b"privity signature v1" + len(domain).to_bytes(2, "big") + domain + content)

    signature = signed(sender, context, ciphertext)
    flipped = ciphertext[:40] + bytes([ciphertext[40] ^ 1]) + ciphertext[41:]
    foreign = hpke_base(plaintext, other_recipient().public_key(), context, once)

    def blob(name: str, ciphertext: bytes, signature: bytes, context: bytes, reason: str) -> dict:
        return {
            "name": name,
            "ciphertext": ciphertext.hex(),
            "signature": signature.hex(),
            "context": context.hex(),
            "reason": reason,
        }

    bad_signature, closed = "bad signature", "cannot be opened"
    return {
        "recipient_private": recipient.private_bytes_raw().hex(),
        "sender_public": sender.public_key().public_bytes_raw().hex(),
        "plaintext": plaintext.hex(),
        "good": [blob("good", ciphertext, signature, context, "")],
        "bad": [
            blob("bad_flipped_bit", flipped, signature, context, bad_signature),
            blob("bad_context", ciphertext, signature, context + b"!", bad_signature),
            blob("bad_sender", ciphertext, signed(other, context, ciphertext), context, bad_signature),
            blob("bad_truncated", ciphertext[:-1], signature, context, bad_signature),
            blob("bad_signature_truncated", ciphertext, signature[:-1], context, bad_signature),
            blob("bad_flipped_then_signed", flipped, signed(sender, context, flipped), context, closed),
            blob("bad_other_recipient", foreign, signed(sender, context, foreign), context, closed),
            blob("bad_empty", b"", signed(sender, context, b""), context, closed),
            blob(
                "bad_moved_then_signed",
                ciphertext,
                signed(sender, b"elsewhere", ciphertext),
                b"elsewhere",
                closed,
            ),
        ],
    }


def other_recipient() -> X25519PrivateKey:
    """A fixed key that is not the recipient's."""
    return X25519PrivateKey.from_private_bytes(hashlib.sha256(b"another recipient").digest())


def masks() -> dict:
    """Three members, keys and streams derived by hand."""
    names = ["alpha", "beta", "gamma"]
    keys = {n: X25519PrivateKey.from_private_bytes(hashlib.sha256(n.encode()).digest()) for n in names}
    context, nonce, modulus, count = b"consortium 1", b"run 1, round 1, attempt 1", 2**255 - 19, 4

    def public(name: str) -> bytes:
        return keys[name].public_key().public_bytes_raw()

    def agreed(one: str, two: str) -> bytes:
        secret = keys[one].exchange(keys[two].public_key())
        parts = [part for name in sorted((one, two)) for part in (name.encode(), public(name))] + [context]
        bound = b"".join(struct.pack(">I", len(part)) + part for part in parts)
        return expand(extract(b"", secret), b"privity mask agreement v1" + bound, 32)

    def stream(key: bytes) -> list[int]:
        info = b"privity mask stream v1" + modulus.to_bytes(32, "big") + nonce
        cipher = Cipher(algorithms.ChaCha20(expand(extract(b"", key), info, 32), bytes(16)), mode=None)
        data = cipher.encryptor().update(bytes(48 * count))  # 255 + 128 bits: 48 bytes each
        return [int.from_bytes(data[48 * i : 48 * i + 48], "big") % modulus for i in range(count)]

    def words(key: bytes) -> list[int]:
        info = b"privity mask words v1" + nonce
        cipher = Cipher(algorithms.ChaCha20(expand(extract(b"", key), info, 32), bytes(16)), mode=None)
        data = cipher.encryptor().update(bytes(8 * count))
        return [int.from_bytes(data[8 * i : 8 * i + 8], "little") for i in range(count)]

    members = []
    for own in names:
        total, short = [0] * count, [0] * count
        for peer in names:
            if peer != own:
                sign = 1 if own < peer else -1
                total = [a + sign * b for a, b in zip(total, stream(agreed(own, peer)), strict=True)]
                short = [a + sign * b for a, b in zip(short, words(agreed(own, peer)), strict=True)]
        members.append(
            {
                "name": own,
                "private": keys[own].private_bytes_raw().hex(),
                "agreed": {peer: agreed(own, peer).hex() for peer in names if peer != own},
                "masks": [str(v % modulus) for v in total],
                "words": [str(v % 2**64) for v in short],
            }
        )
    return {
        "context": context.hex(),
        "nonce": nonce.hex(),
        "modulus": str(modulus),
        "count": count,
        "members": members,
    }


def main(folder: Path) -> None:
    """Writes every file."""
    for make in (packing, slot_widths, paillier, sealing, masks):
        content = {"format_version": FORMAT_VERSION, **make()}
        (folder / f"{make.__name__}.json").write_text(json.dumps(content, indent=1) + "\n")


if __name__ == "__main__":
    main(Path(sys.argv[1]) if len(sys.argv) > 1 else Path(__file__).parent)
