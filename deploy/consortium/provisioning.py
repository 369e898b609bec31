"""Folders, keys, certificates and configuration files for a curator and its parties on one machine.

Throwaway material for simulations and tests: whoever runs this holds every private key.
"""

from __future__ import annotations

import json
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path
from typing import TYPE_CHECKING

from privity.common.consortium.manifest import CURATOR, Manifest, Split, read_manifest, sign_manifest
from privity.common.consortium.manifest_file import ManifestFile
from privity.common.consortium.member_folder import ORGANISER_KEY, SCHEMA
from privity.common.crypto.certificates import issue, make_authority, self_signed
from privity.common.crypto.identity import Identity
from privity.common.crypto.paillier import SMALLEST_BITS
from privity.common.crypto.residues import Exponents
from privity.common.data.coded_table import write_csv
from privity.common.data.schema import Schema
from privity.common.formats.declared_keys import new_file
from privity.common.privacy.ledger import Ledger
from privity.common.privacy.population import Population
from privity.common.protocol.secure_sum_method import SumKind
from privity.common.storage.canonical_json import b64
from privity.common.storage.safe_files import write_private
from privity.common.synthesis.algorithms import ALGORITHMS
from privity.curator.server import CuratorConfig
from privity.deploy.operator.operator_folder import SETTINGS, OperatorConfig
from privity.party.config import PartyConfig
from privity.party.policy import Approval, Policy

if TYPE_CHECKING:
    import pandas as pd

HOST = "localhost"
EVENTS = "events.csv"
POPULATION, LEDGER = "simulation", "state/ledger.sqlite"
"""Each throwaway party has a ledger of its own, as if it were on a machine of its own."""


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

    @property
    def operator_files(self) -> tuple[ManifestFile, Path, Path]:
        """Manifest, certificate and key with which the operator dials."""
        manifests = ManifestFile(self.operator / "manifest.json", self.operator / "organiser.pub")
        return manifests, self.operator / "tls.pem", self.operator / "tls.key"

    @property
    def manifest(self) -> Manifest:
        """As the organiser signed it."""
        return read_manifest(self.curator / "manifest.json", self.curator / ORGANISER_KEY)

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
    limits: Limits,
    *,
    patience: float,
    split: Split = Split.GIVEN,
    name: str = "simulation",
    approving: Collection[str] = (),
    events: Mapping[str, pd.DataFrame] | None = None,
) -> Consortium:
    """Write a whole consortium below ``folder``; the curator's address is filled in by ``point_to``.

    Args:
        name: of the consortium.
        approving: parties whose owner approves each run; at the others the policy does.
        events: of histories: those of each party's persons.
    """
    consortium = Consortium(folder, tuple(frames))
    authority = make_authority("throwaway authority")
    organiser = Identity.generate()
    identities = {name: Identity.generate() for name in frames}
    callers = {f"party/{name}": self_signed(name, "party") for name in frames}
    callers["operator/operator"] = self_signed("operator", "operator")
    server = issue(authority, CURATOR, "curator", (HOST, "127.0.0.1"))
    manifest = Manifest(
        consortium=name,
        members={name: identity.public() for name, identity in identities.items()},
        schema_digest=schema.digest,
        curator_member=None,
        simulation=True,
        split=split,
        discoveries=schema.signed_discoveries,
        certificates={holder: pair[0].decode() for holder, pair in ({f"curator/{CURATOR}": server} | callers).items()},
    )
    signed = json.dumps(sign_manifest(manifest, organiser), indent=2)
    # The parts are written as releases are, whatever the joint table is written in.
    described = json.dumps(schema.released.table_schema(), indent=2, ensure_ascii=False)
    organiser_key = b64(organiser.public().signing)

    def common_files(place: Path) -> None:
        place.mkdir(mode=0o700, parents=True)
        (place / "manifest.json").write_text(signed, encoding="utf-8")
        (place / "organiser.pub").write_text(organiser_key, encoding="ascii")
        (place / SCHEMA).write_text(described, encoding="utf-8")

    common_files(consortium.curator)
    write_private(consortium.curator / "tls.key", server[1])
    (consortium.curator / "curator.toml").write_text(
        new_file(CuratorConfig, listen="127.0.0.1:0", patience=patience), encoding="utf-8"
    )
    common_files(consortium.operator)
    _write_caller(consortium.operator, callers["operator/operator"])
    for party, frame in frames.items():
        place = consortium.party(party)
        common_files(place)
        identities[party].save(place / "keys")
        _write_caller(place, callers[f"party/{party}"])
        write_csv(frame, place / "data.csv", quote_all=True)
        if events is not None:
            write_csv(events[party], place / EVENTS, quote_all=True)
        approval = Approval.MANUAL if party in approving else Approval.BY_POLICY
        policy = new_file(
            Policy, population=POPULATION, approval=approval.value, evaluation=True,
            epsilon_per_run=str(limits.epsilon), algorithms=list(ALGORITHMS), minimum_parties=2,
            minimum_tolerate=limits.tolerate, minimum_key_bits=limits.key_bits or SMALLEST_BITS,
            secure_sums=[limits.secure_sum.method.value],
            exponents=[(limits.secure_sum.exponents or Exponents.HALF).value], published=[],
        )  # fmt: skip
        write_private(place / "policy.toml", policy.encode())
        (place / LEDGER).parent.mkdir(mode=0o700)
        Ledger.declare(place / LEDGER, Population(POPULATION, limits.epsilon, limits.delta)).close()
    return consortium


def point_to(consortium: Consortium, port: int, data: Mapping[str, str] | None = None) -> None:
    """Write party.toml and operator.toml with the curator's address.

    Args:
        data: whose rows are elsewhere, and where.
    """
    settings = new_file(OperatorConfig, curator=f"{HOST}:{port}")
    (consortium.operator / SETTINGS).write_text(settings, encoding="utf-8")
    for name in consortium.members:
        rows = (data or {}).get(name, "data.csv")
        both = {"events": EVENTS} if (consortium.party(name) / EVENTS).exists() else {}
        text = new_file(PartyConfig, name=name, curator=f"{HOST}:{port}", data=rows, ledger=LEDGER, **both)
        write_private(consortium.party(name) / "party.toml", text.encode())


def _write_caller(place: Path, pair: tuple[bytes, bytes]) -> None:
    """What one who dials the curator needs for TLS."""
    (place / "tls.pem").write_bytes(pair[0])
    write_private(place / "tls.key", pair[1])
