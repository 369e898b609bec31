"""Other programs, and what their guarantees come to for one replaced row."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

from privity.common.privacy.loss_conversion import rho_within

PURE, DELTA = "0", "1e-9"
REPLACED, AUTHORS = "replaced row", "as its authors count"
"""Which two tables a guarantee is about: that of this project, and whatever a peer's accountant means."""


@dataclass(frozen=True)
class Peer:
    """A program to compare with.

    Attributes:
        program: in ``peer_run.PROGRAMS``; environment: in ``peer_environments.ENVIRONMENTS``.
        version: of the packages that decide a result.
        delta: PURE or DELTA.
        dearer: rho of a replaced row over the rho that it counts; 0 if it counts no rho.
        counted: the guarantees under which it runs.
        megabytes: of its model at most, if it may be told.
    """

    program: str
    environment: str
    version: str
    delta: str
    dearer: float
    counted: tuple[str, ...] = (REPLACED, AUTHORS)
    megabytes: float | None = None


OPENDP, DPMM = "opendp 0.16.0, mbi 1.1.0", "dpmm 0.1.9"
PEERS: dict[str, Peer] = {
    "opendp AIM, 1 MB": Peer("opendp-aim", "opendp", OPENDP, DELTA, 2.1, megabytes=1.0),
    "opendp AIM, 80 MB": Peer("opendp-aim", "opendp", OPENDP, DELTA, 2.1, (REPLACED,), megabytes=80.0),
    "opendp MST": Peer("opendp-mst", "opendp", OPENDP, DELTA, 2.1),
    "dpmm AIM, 1 MB": Peer("dpmm-aim", "dpmm", DPMM, DELTA, 2.2, megabytes=1.0),
    "dpmm MST": Peer("dpmm-mst", "dpmm", DPMM, DELTA, 8 / 3),
    "dpmm PrivBayes": Peer("dpmm-privbayes", "dpmm", DPMM, DELTA, 0.0, (AUTHORS,)),
    "dpart PrivBayes": Peer("dpart", "dpart", "dpart 0.1.2", PURE, 0.0),
}
"""Name in the tables -> program; docs/benchmarks/accuracy.md says what each accountant counts, and where that is read.

A replaced row is one row less and one more. Of a peer that counts one row more or less, tables (1 in L2) then cost
twice the rho, and draws (scores that move by 1) 4 times: 2.1 of opendp are 19/20 twice and 1/20 four times.
"""


def rho_of(peer: Peer, epsilon: str, counted: str) -> float | None:
    """What a peer that counts rho is given, by the one conversion that our own runs go by; None for the others."""
    if not peer.dearer:
        return None
    whole = float(rho_within(Fraction(epsilon), Fraction(peer.delta)))
    return whole / peer.dearer if counted == REPLACED else whole
