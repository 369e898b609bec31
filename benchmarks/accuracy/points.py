"""What the comparison at equal guarantee measures: peers, points, seeds, and the targets that were set."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction

from benchmarks.accuracy.methods import COMPARED, FITS, SLOW, UNLIKE
from benchmarks.utility import TASKS
from privity.common.privacy.zcdp_budget import converted, rho_within

PURE, DELTA = "0", "1e-9"
GUARANTEES = {DELTA: "(eps, 1e-9)", PURE: "pure eps"}

REPLACED, AUTHORS = "replaced row", "as its authors count"
"""Which two tables a guarantee is about: that of this project, and whatever a peer's accountant means."""


REAL_ROWS, MAJORITY = "real rows", "majority"
"""Of the classification tasks: training on the real rows, and the most frequent answer."""


@dataclass(frozen=True)
class Peer:
    """A program to compare with, and what its guarantee comes to for one replaced row.

    Attributes:
        program: in ``benchmarks.peers.run.PROGRAMS``; environment: in ``benchmarks.peers.environments.ENVIRONMENTS``.
        version: of the packages that decide a result.
        delta: PURE or DELTA.
        megabytes: of its model at most, if it may be told.
        dearer: rho of a replaced row over the rho that it counts; 0 if it counts no rho.
        counted: the guarantees under which it runs.
        neighbours: in words, which two tables its accountant means, and where that can be read.
    """

    program: str
    environment: str
    version: str
    delta: str
    dearer: float
    neighbours: str
    counted: tuple[str, ...] = (REPLACED, AUTHORS)
    megabytes: float | None = None


_OPENDP = "opendp 0.16.0, mbi 1.1.0"
_OPENDP_NEIGHBOURS = (
    "one row more or less (`unit_of(contributions=1)`, symmetric distance 1): a table counts as 1 in L2, a score as 1. "
    "A replaced row is sqrt 2 in L2 and moves a score by 2: 19/20 of its rho cost twice as much, the 1/20 for draws 4 "
    "times: 2.1 times in all. (Its own accountant, told of contributions=2, charges 4 times for everything)"
)
_DPMM = "dpmm 0.1.9"
_DPMM_NEIGHBOURS = (
    "one row more or less: noise for 1 in L2, scores of sensitivity 1, as in private-pgm, from which it is"
)

PEERS: dict[str, Peer] = {
    "opendp AIM, 1 MB": Peer(
        "opendp-aim", "opendp", _OPENDP, DELTA, 2.1, _OPENDP_NEIGHBOURS, megabytes=1.0
    ),
    "opendp AIM, 80 MB": Peer(
        "opendp-aim", "opendp", _OPENDP, DELTA, 2.1, "as above", (REPLACED,), megabytes=80.0
    ),
    "opendp MST": Peer("opendp-mst", "opendp", _OPENDP, DELTA, 2.1, "as above"),
    "dpmm AIM, 1 MB": Peer(
        "dpmm-aim", "dpmm", _DPMM, DELTA, 2.2,
        f"{_DPMM_NEIGHBOURS}. 9/10 of its rho or more is for tables: at most 2.2 times for a replaced row",
        megabytes=1.0,
    ),
    "dpmm MST": Peer(
        "dpmm-mst", "dpmm", _DPMM, DELTA, 8 / 3,
        f"{_DPMM_NEIGHBOURS}. 2/3 of its rho is for tables, 1/3 for draws: 8/3 times for a replaced row",
    ),
    "dpmm PrivBayes": Peer(
        "dpmm-privbayes", "dpmm", _DPMM, DELTA, 0.0,
        "one row more or less for its tables. It normalises scores and divides them by a sensitivity of other scores: "
        "its draws have no guarantee that could be converted",
        (AUTHORS,),
    ),
    "dpart PrivBayes": Peer(
        "dpart", "dpart", "dpart 0.1.2", PURE, 0.0,
        "a replaced row (2 in L1), but it divides scores in bits by their sensitivity in nats: its draws cost 1/ln 2 "
        "times what it counts. For a replaced row they get ln 2 of their half of epsilon",
    ),
}  # fmt: skip
"""Name in the tables -> program. ``benchmarks/peers/run.py`` says how each is called."""

BEST_PURE_PEER = "dpart PrivBayes"
"""The others with a pure guarantee in docs/benchmarks/peers.md do worse."""

EPSILONS = ("0.1", "0.2", "0.4", "0.8", "1", "1.6")
PARTIES = (1, 2, 3, 5, 10, 25)
CURVE = "1"
"""Epsilon of the tables over parties, and of the targets over parties."""
SVM_PARTIES = (1, 3)
SKEW_EPSILONS, SKEW_PARTIES = ("0.2", "1"), (3, 10)
FIT_EPSILONS, FIT_PARTIES = ("0.1", "0.4", "1.6"), (1, 3)
ALPHAS = ("0.1", "1")
PEER_EPSILONS = ("0.1", "0.4", "1", "1.6")
AUTHORS_EPSILONS = ("1",)
PEER_SVM_EPSILONS = ("1",)
SLOW_PEERS = ("opendp AIM, 80 MB",)
"""Not run unless they are named."""

SKEWED: dict[str, tuple[str, str]] = {
    "adult": ("age", "income"),
    "nltcs": ("telephoning", "getting about outside"),
    "diabetes130": ("age", "readmitted"),
    "cps_taxunits": ("fips", "MARS"),
}
"""Table -> the attribute by which rows are sorted, and the one whose values are shared out by a Dirichlet law."""

TARGET_DATA = "adult"
TARGETS: dict[str, tuple[tuple[str, float], ...]] = {
    "by default, within 60 s": (("0.1", 0.070), ("0.4", 0.042), ("1", 0.034), ("1.6", 0.030)),
    "with more time": (("0.1", 0.066), ("0.4", 0.037), ("1", 0.026), ("1.6", 0.0185)),
}
"""Mean 2-way distance on adult at (eps, 1e-9), one party."""
TARGET_EPSILONS = tuple(epsilon for epsilon, _ in TARGETS["by default, within 60 s"])
AT_THEIR_COUNT = "aim"
"""Run also at the epsilons of ``as_their_count``."""
PURE_TARGETS = (("0.1", 0.10), ("0.4", 0.055), ("1", 0.040), ("1.6", 0.035))
PARTY_BOUNDS = {2: 0.40, 3: 0.20, 5: 0.10, 10: 0.10, 25: 0.10}
"""K -> by which part the mean 2-way distance may exceed that of one party."""
SECONDS_TARGET = 60.0

PARTS = ("single", "targets", "parties", "skew", "fits", "svm", "peers")


def as_their_count(epsilon: str) -> str:
    """The epsilon of a replaced row at which tables have the noise that costs ``epsilon`` for one row more or less.

    Twice the rho, converted, and rounded down to four places.
    """
    delta = Fraction(DELTA)
    whole = converted(2 * rho_within(Fraction(epsilon), delta), delta)
    return f"{int(whole * 10**4) / 10**4:g}"


@dataclass(frozen=True)
class Point:
    """One setting.

    Attributes:
        kind: ``whole`` (a model of all rows; distances) or ``held out`` (a model of 80 % of them, and classifiers
            trained on its sample and tested on the other rows).
        method: a name in METHODS or PEERS, or REAL_ROWS.
        counted: REPLACED, or AUTHORS for a peer at its own count.
    """

    kind: str
    data: str
    method: str
    epsilon: str
    delta: str = PURE
    parties: int = 1
    split: str = "random"
    counted: str = REPLACED

    @property
    def of_peer(self) -> bool:
        return self.method in PEERS

    def __str__(self) -> str:
        where = f"K = {self.parties}, {self.split}" if not self.of_peer else self.counted
        return f"{self.data}: {self.kind}, {self.method}, eps {self.epsilon}, delta {self.delta}, {where}"


@dataclass(frozen=True)
class Plan:
    """How much is measured.

    Attributes:
        alphas: of the Dirichlet law; parts: of PARTS; methods: names in METHODS or PEERS, all if empty.
    """

    epsilons: tuple[str, ...] = EPSILONS
    parties: tuple[int, ...] = PARTIES
    guarantees: tuple[str, ...] = (DELTA, PURE)
    alphas: tuple[str, ...] = ALPHAS
    seeds: int = 5
    peer_seeds: int = 1
    parts: tuple[str, ...] = PARTS
    methods: tuple[str, ...] = ()
    skew_epsilons: tuple[str, ...] = SKEW_EPSILONS
    skew_parties: tuple[int, ...] = SKEW_PARTIES
    fit_epsilons: tuple[str, ...] = FIT_EPSILONS
    fit_parties: tuple[int, ...] = FIT_PARTIES
    peer_epsilons: tuple[str, ...] = PEER_EPSILONS

    def points(self, data: str, refused: Sequence[str] = ()) -> dict[Point, int]:
        """Every point of one table with its number of seeds; methods that cannot run are left out."""
        found: dict[Point, int] = {}
        for part, points in self.by_part(data).items():
            if part in self.parts:
                chosen = [p for p in points if p.method not in refused and self._asked(p.method)]
                found |= {p: self.peer_seeds if p.of_peer else self.seeds for p in chosen}
        return found

    def _asked(self, method: str) -> bool:
        if method == REAL_ROWS:
            return True
        return method in self.methods if self.methods else method not in SLOW_PEERS

    def by_part(self, data: str) -> dict[str, list[Point]]:
        """Part -> its points, whether they are asked for or not."""
        grid = [(m, e, d) for d in self.guarantees for m in COMPARED for e in self.epsilons]
        many = [k for k in self.parties if k > 1]
        return {
            "single": [Point("whole", data, m, e, d) for m, e, d in grid if 1 in self.parties],
            "targets": self._beside_targets(data),
            "parties": [Point("whole", data, m, e, d, k) for k in many for m, e, d in grid],
            "skew": self._skewed(data),
            "fits": [
                Point("whole", data, m, e, d, k)
                for d in self.guarantees
                for m in FITS
                for e in self.fit_epsilons
                for k in self.fit_parties
            ],
            "svm": self._classified(data),
            "peers": [*self._peers(data), *self._peers_classified(data)],
        }

    def _beside_targets(self, data: str) -> list[Point]:
        if data != TARGET_DATA or DELTA not in self.guarantees:
            return []
        epsilons = [e for e in TARGET_EPSILONS if e in self.epsilons]
        slow = [Point("whole", data, m, e, DELTA) for m in SLOW for e in epsilons]
        return [*slow, *(Point("whole", data, AT_THEIR_COUNT, as_their_count(e), DELTA) for e in epsilons)]

    def splits(self, data: str) -> dict[str, str]:
        """Name in the tables -> how the rows are split; the first are alike."""
        found = {"random": "random"}
        if data in SKEWED:
            ordered, label = SKEWED[data]
            found[f"sorted by {ordered}"] = f"by:{ordered}"
            found |= {f"{label} by Dirichlet, alpha {a}": f"dirichlet:{label}:{a}" for a in self.alphas}
        return found

    def _skewed(self, data: str) -> list[Point]:
        if data not in SKEWED or DELTA not in self.guarantees:
            return []
        return [
            Point("whole", data, m, e, DELTA, k, split)
            for split in self.splits(data).values()
            for m in UNLIKE
            for e in self.skew_epsilons
            for k in self.skew_parties
        ]

    def _classified(self, data: str) -> list[Point]:
        if data not in TASKS or DELTA not in self.guarantees:
            return []
        points = [
            Point("held out", data, m, e, DELTA, k)
            for k in SVM_PARTIES
            if k in self.parties
            for m in COMPARED
            for e in self.epsilons
        ]
        return [*points, Point("held out", data, REAL_ROWS, "-")]

    def _peers(self, data: str) -> list[Point]:
        return [
            Point("whole", data, name, epsilon, peer.delta, counted=counted)
            for counted in (REPLACED, AUTHORS)
            for name, peer in PEERS.items()
            if counted in peer.counted and peer.delta in self.guarantees
            for epsilon in (
                self._own_count if (counted, REPLACED) == (AUTHORS, peer.counted[0]) else self.peer_epsilons
            )
        ]

    @property
    def _own_count(self) -> tuple[str, ...]:
        return tuple(e for e in self.peer_epsilons if e in AUTHORS_EPSILONS)

    def _peers_classified(self, data: str) -> list[Point]:
        if data not in TASKS:
            return []
        epsilons = [e for e in self.peer_epsilons if e in PEER_SVM_EPSILONS]
        return [
            Point("held out", data, name, epsilon, peer.delta)
            for name, peer in PEERS.items()
            if REPLACED in peer.counted and peer.delta in self.guarantees
            for epsilon in epsilons
        ]


QUICK = Plan(
    epsilons=("0.4", "1"), parties=(1, 3), alphas=("1",), seeds=1, skew_epsilons=("1",), skew_parties=(3,),
    peer_epsilons=("1",), parts=("single", "parties", "skew", "svm"),
)  # fmt: skip
"""A small plan without peers that shows most tables and pictures within minutes."""
