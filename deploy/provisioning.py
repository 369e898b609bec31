"""Folders, keys, certificates and configuration files for a curator and its parties on one machine.

Throwaway material for simulations and tests: whoever runs this holds every private key.
"""

from __future__ import annotations

import json
import shutil
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path

import pandas as pd

from common.algorithms import ALGORITHMS
from common.canonical import b64
from common.crypto.certificates import Authority, Role, issue, make_authority
from common.crypto.identity import Identity
from common.crypto.paillier import SMALLEST_BITS
from common.crypto.residues import Exponents
from common.protocol.manifest import Manifest, sign_manifest
from common.protocol.sum_kind import SumKind
from common.schema import Schema
from common.table import write_csv

HOST = "localhost"


@dataclass(frozen=True)
class Consortium:
    """Where everything lies: one folder for the curator, one for the operator, one for each party."""

    folder: Path
    members: tuple[str, ...]

    @property
    def curator(self) -> Path:
        return self.folder / "curator"

    @property
    def operator(self) -> Path:
        return self.folder / "operator"

    def party(self, name: str) -> Path:
        return self.folder / "parties" / name


@dataclass(frozen=True)
class Limits:
    """The policy that each throwaway party gets."""

    epsilon: Fraction
    tolerate: int
    secure_sum: SumKind
    key_bits: int | None
    delta: Fraction = Fraction(0)


def provision(
    folder: Path,
    frames: Mapping[str, pd.DataFrame],
    schema: Schema,
    schema_file: Path,
    limits: Limits,
    *,
    patience: float,
) -> Consortium:
    """Write a whole consortium below ``folder``; the curator's address is filled in by ``point_to``."""
    consortium = Consortium(folder, tuple(frames))
    authority = make_authority("throwaway authority")
    organiser = Identity.generate()
    identities = {name: Identity.generate() for name in frames}
    manifest = Manifest(
        consortium="simulation",
        members={name: identity.public() for name, identity in identities.items()},
        schema_digest=schema.digest,
        curator_member=None,
        simulation=True,
    )
    signed = json.dumps(sign_manifest(manifest, organiser), indent=2)
    organiser_key = b64(organiser.public().signing)

    def common_files(place: Path) -> None:
        place.mkdir(mode=0o700, parents=True)
        (place / "authority.pem").write_bytes(authority.cert_pem)
        (place / "manifest.json").write_text(signed, encoding="utf-8")
        (place / "organiser.pub").write_text(organiser_key, encoding="ascii")
        shutil.copyfile(schema_file, place / "schema.json")

    common_files(consortium.curator)
    _write_certificate(consortium.curator, authority, "curator", "curator", (HOST, "127.0.0.1"))
    (consortium.curator / "curator.toml").write_text(_CURATOR_TOML.format(patience=patience), encoding="utf-8")
    consortium.operator.mkdir(mode=0o700)
    (consortium.operator / "authority.pem").write_bytes(authority.cert_pem)
    _write_certificate(consortium.operator, authority, "operator", "operator", ())
    for name, frame in frames.items():
        place = consortium.party(name)
        common_files(place)
        identities[name].save(place / "keys")
        _write_certificate(place, authority, name, "party", ())
        write_csv(frame, place / "data.csv")
        policy = _POLICY_TOML.format(
            epsilon=limits.epsilon,
            delta=limits.delta,
            tolerate=limits.tolerate,
            key_bits=limits.key_bits or SMALLEST_BITS,
            secure_sum=json.dumps([limits.secure_sum.method.value]),
            exponents=json.dumps([(limits.secure_sum.exponents or Exponents.HALF).value]),
            algorithms=json.dumps(list(ALGORITHMS)),
        )
        (place / "policy.toml").write_text(policy, encoding="utf-8")
    return consortium


def point_to(consortium: Consortium, port: int) -> None:
    """Write each party's party.toml with the curator's address."""
    for name in consortium.members:
        text = _PARTY_TOML.format(name=name, curator=f"{HOST}:{port}")
        (consortium.party(name) / "party.toml").write_text(text, encoding="utf-8")


def _write_certificate(place: Path, authority: Authority, member: str, role: Role, hosts: Sequence[str]) -> None:
    certificate, key = issue(authority, member, role, hosts)
    (place / "tls.pem").write_bytes(certificate)
    file = place / "tls.key"
    file.touch(mode=0o600)
    file.write_bytes(key)


_CURATOR_TOML = """\
format_version = 1
listen = "127.0.0.1:0"
certificate = "tls.pem"
key = "tls.key"
authority = "authority.pem"
manifest = "manifest.json"
organiser_key = "organiser.pub"
schema = "schema.json"
state = "state"
patience = {patience}
"""

_PARTY_TOML = """\
format_version = 1
name = "{name}"
curator = "{curator}"
data = "data.csv"
schema = "schema.json"
policy = "policy.toml"
manifest = "manifest.json"
organiser_key = "organiser.pub"
keys = "keys"
certificate = "tls.pem"
key = "tls.key"
authority = "authority.pem"
state = "state"
"""

_POLICY_TOML = """\
format_version = 1
population = "simulation"
total_epsilon = "{epsilon}"
epsilon_per_run = "{epsilon}"
total_delta = "{delta}"
algorithms = {algorithms}
minimum_parties = 2
minimum_tolerate = {tolerate}
minimum_key_bits = {key_bits}
secure_sums = {secure_sum}
exponents = {exponents}
"""
