"""Certificates of a test consortium: self-signed ones of parties and operators, the curator's of an authority."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path

from privity.common.consortium.manifest import CURATOR
from privity.common.crypto.certificates import Authority, Role, issue, make_authority, self_signed
from privity.common.crypto.identity import Identity

HOST = "localhost"
OPERATOR = "boss"

Pair = tuple[bytes, bytes]
"""Certificate and private key, PEM."""


@dataclass
class TestTls:
    """Key pairs by ``ROLE/NAME``, and the organiser who seals the manifest."""

    __test__ = False

    authority: Authority = field(default_factory=lambda: make_authority("test authority"))
    organiser: Identity = field(default_factory=Identity.generate)
    pairs: dict[str, Pair] = field(default_factory=dict)

    @classmethod
    def of(cls, parties: Iterable[str]) -> TestTls:
        tls = cls()
        tls.pairs[f"curator/{CURATOR}"] = issue(tls.authority, CURATOR, "curator", (HOST, "127.0.0.1"))
        tls.pairs[f"operator/{OPERATOR}"] = self_signed(OPERATOR, "operator")
        tls.pairs |= {f"party/{name}": self_signed(name, "party") for name in parties}
        return tls

    @property
    def certificates(self) -> dict[str, str]:
        """As a manifest lists them."""
        return {holder: pair[0].decode() for holder, pair in self.pairs.items()}

    def files(self, folder: Path, role: Role, name: str, pair: Pair | None = None) -> tuple[Path, Path]:
        """Certificate and key as files; of this consortium unless another pair is given."""
        files = (folder / f"{role}-{name}.pem", folder / f"{role}-{name}.key")
        for file, content in zip(files, pair or self.pairs[f"{role}/{name}"], strict=True):
            file.write_bytes(content)
        return files
