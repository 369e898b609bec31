"""Tables of the sample of runs by real processes: bytes, rounds, seconds, and agreement with the sweep."""

from __future__ import annotations

import statistics
from collections.abc import Sequence
from typing import Any

from benchmarks.markdown import NONE, spread, standard_errors_apart, table
from benchmarks.multi_party.cache import Results
from benchmarks.multi_party.points import MIDDLE, OPTION_EPSILON, SUBJECT, Point

RATIO = 40  # times fewer bytes than the unpacked protocol: the target


def party_bytes(run: dict[str, Any]) -> dict[str, int]:
    """Bytes of each party over all phases, both ways."""
    total: dict[str, int] = {}
    for parties in run["bytes"].values():
        for party, count in parties.items():
            total[party] = total.get(party, 0) + count
    return total


def ratio(run: dict[str, Any]) -> float:
    """How many times more the unpacked protocol would move for the party that moved most."""
    return float(sum(run["unpacked_bytes"].values()) / max(party_bytes(run).values()))


def sums_ratio(run: dict[str, Any]) -> float:
    """The same for the phases with secure sums alone, without enrolment and the requests for draws."""
    summed = [phase for phase, cells in run["unpacked_bytes"].items() if cells]
    moved = [sum(run["bytes"][phase].get(party, 0) for phase in summed) for party in party_bytes(run)]
    return float(sum(run["unpacked_bytes"].values()) / max(moved))


def _times(values: Sequence[float]) -> str:
    return spread(values, 0) + ("" if min(values) >= RATIO else " **below**")


def runs(results: Results, points: Sequence[Point]) -> list[str]:
    """One row for each real point: bytes against the unpacked protocol, rounds, seconds."""
    rows = []
    for point in points:
        seen = results.seeds(point)
        documents = [values["run"] for values in seen]
        unpacked = statistics.mean(sum(run["unpacked_bytes"].values()) for run in documents)
        rows.append([
            point.data, point.variant, point.epsilon, str(point.parties), str(len(seen)),
            f"{statistics.mean(max(party_bytes(run).values()) for run in documents) / 1000:,.0f}",
            f"{unpacked / 1000:,.0f}",
            _times([ratio(run) for run in documents]) if unpacked else NONE,
            _times([sums_ratio(run) for run in documents]) if unpacked else NONE,
            f"{statistics.mean(sum(run['rounds'].values()) for run in documents):.0f}",
            spread([values["seconds"] for values in seen], 1),
        ])  # fmt: skip
    head = [
        "data", "algorithm", "eps", "K", "seeds", "kB, worst party", "kB unpacked", "times fewer",
        "times fewer, secure sums alone", "rounds", "seconds",
    ]  # fmt: skip
    return table(head, rows)


def phases(results: Results, points: Sequence[Point]) -> list[str]:
    """Phase by phase and party by party, for the first seed of DP-SUBN's runs over three parties."""
    lines: list[str] = []
    for point in points:
        if (point.epsilon, point.parties) != (OPTION_EPSILON, MIDDLE) or not results.seeds(point):
            continue
        run = results.seeds(point)[0]["run"]
        if not run["unpacked_bytes"]:
            continue
        members = sorted(party_bytes(run))
        rows = []
        for phase in dict.fromkeys([*run["bytes"], *run["rounds"]]):
            moved = run["bytes"].get(phase, {})
            unpacked = run["unpacked_bytes"].get(phase, 0)
            worst = max(moved.values(), default=0)
            rows.append([
                phase, *(f"{moved.get(member, 0):,}" for member in members), str(run["rounds"].get(phase, NONE)),
                f"{run['cells'].get(phase, 0):,}", f"{unpacked:,}",
                f"{unpacked / worst:.0f}" if unpacked and worst else NONE,
                f"{run['seconds'].get(phase, 0):.1f}",
            ])  # fmt: skip
        lines += ["", f"{point.data}, {point.variant}, eps {point.epsilon}, K = {point.parties}, bytes by party:"]
        lines += table(
            ["phase", *members, "rounds", "cells", "unpacked bytes of a party", "times fewer", "seconds"], rows
        )
    return lines


def agreement(results: Results, points: Sequence[Point]) -> list[str]:
    """Mean 2-way distance of the real runs beside the in-process ones with the same settings."""
    rows = []
    for point in points:
        real = results.values(point, "mean2")
        twin = Point("distance", point.data, point.variant, point.epsilon, point.parties, point.split)
        inside = results.values(twin, "mean2")
        if real and inside:
            away = standard_errors_apart(real, inside)
            rows.append([
                point.data, point.variant, point.epsilon, str(point.parties), spread(real, 4), spread(inside, 4),
                NONE if away is None else f"{away:+.1f}",
            ])  # fmt: skip
    head = ["data", "algorithm", "eps", "K", "real processes", "in one process", "difference, in standard errors"]
    return table(head, rows)


def totals_by_parties(results: Results, data: str, variant: str) -> dict[int, tuple[float, float]]:
    """K -> kilobytes of all parties, as moved and as the unpacked protocol would (the paper's Figure 8)."""
    found = {}
    for point in results.points("real", data):
        if (point.variant, point.epsilon) == (variant, OPTION_EPSILON):
            documents = [values["run"] for values in results.seeds(point)]
            moved = statistics.mean(sum(party_bytes(run).values()) for run in documents)
            unpacked = statistics.mean(sum(run["unpacked_bytes"].values()) for run in documents)
            found[point.parties] = moved / 1000, point.parties * unpacked / 1000
    return dict(sorted(found.items()))


def figure_8(results: Results, names: Sequence[str]) -> list[str]:
    rows = []
    for data in names:
        for variant in (SUBJECT, "frontier always, final", "dp-ccbn"):
            for parties, (moved, unpacked) in totals_by_parties(results, data, variant).items():
                rows.append(
                    [data, variant, str(parties), f"{moved:,.0f}", f"{unpacked:,.0f}", f"{unpacked / moved:.0f}"]
                )
    return table(["data", "algorithm", "K", "kB moved, all parties", "kB unpacked, all parties", "times fewer"], rows)
