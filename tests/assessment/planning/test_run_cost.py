"""The plan of a run against the run itself: the same phases, costs, cells and ciphertexts."""

from __future__ import annotations

import json
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest

from privity.assessment.planning.cost_forecast import CELL_SECONDS, RELAYED_SECONDS, Arithmetic, Planner, products
from privity.common.crypto.residues import Exponents
from privity.common.privacy.discrete_laplace import discrete_laplace
from privity.common.privacy.random_bits import SystemEntropy
from privity.common.privacy.run_budget import PureBudget
from privity.common.protocol.secure_sum_method import MASKS, PAILLIER, Method, SumKind
from privity.common.runs.planned_run import planned_session, rehearse
from privity.common.synthesis.algorithms import ALGORITHMS
from tests.harness.consortium import KEY_BITS, make_consortium, make_schema, open_policy
from tests.harness.long import long_but, thinned

DOMAIN = (2, 3, 4, 3)
ROWS = 60
ONE = Fraction(1)
DELTA = Fraction(1, 2**20)
APPROXIMATE = {"copula": DELTA}
KNOWN_TABLES = ("copula", "one-way")
OF_KNOWN_DOMAINS = sorted(name for name, known in ALGORITHMS.items() if not known.discovers)


def planned(algorithm: str, parties: int, kind: SumKind = PAILLIER, delta: Fraction | None = None, **settings):
    schema = make_schema(DOMAIN)
    delta = APPROXIMATE.get(algorithm, Fraction(0)) if delta is None else delta
    budget = ALGORITHMS[algorithm].budget(settings, ONE, delta)
    rows = {f"party-{k}": ROWS for k in range(1, parties + 1)}
    session = rehearse(planned_session(schema, rows, 1, budget), algorithm, settings)
    return session, Planner(session, 1, kind, KEY_BITS if kind.method is Method.PAILLIER else None).phases()


@pytest.mark.process
@pytest.mark.parametrize(
    ("algorithm", "parties", "delta"),
    [
        *((name, 3, APPROXIMATE.get(name, Fraction(0))) for name in OF_KNOWN_DOMAINS),
        *long_but((), ((name, 2, APPROXIMATE.get(name, Fraction(0))) for name in OF_KNOWN_DOMAINS)),
        *thinned(((name, 3, DELTA) for name in OF_KNOWN_DOMAINS if ALGORITHMS[name].spends_delta), 3),
    ],
)
def test_the_plan_is_what_the_run_does(tmp_path: Path, algorithm: str, parties: int, delta: Fraction) -> None:
    policy = open_policy(total_delta=Fraction(1, 1000))
    names = [f"party-{k}" for k in range(1, parties + 1)]
    consortium = make_consortium(parties, domain=DOMAIN, rows=ROWS, policies=dict.fromkeys(names, policy))
    consortium.drive(tmp_path / "release", algorithm=algorithm, epsilon=ONE, delta=delta)
    statement = json.loads((tmp_path / "release" / "privacy.json").read_text())
    run = json.loads((tmp_path / "release" / "run.json").read_text())
    session, phases = planned(algorithm, parties, delta=delta)
    assert [phase.phase for phase in phases] == [phase["phase"] for phase in statement["phases"]]
    for phase, real in zip(phases, statement["phases"], strict=True):
        assert (str(phase.epsilon), str(phase.delta)) == (real["epsilon_per_row"], real["delta_per_row"])
        assert str(phase.rho) == real.get("rho_per_row", "0")
        assert list(phase.mechanisms) == real["mechanisms"]
    for name, party in zip(names, statement["parties"], strict=True):
        assert str(session.record.epsilon(name)) == party["epsilon_per_row"]
    cells = {phase.phase: phase.cells for phase in phases if phase.cells}
    assert set(cells) == set(run["cells"])
    if algorithm in KNOWN_TABLES:
        # The tables depend on nothing that is opened or drawn.
        assert cells == run["cells"]
        # Every party sends them once, and the combiner the sum.
        sent = {phase.phase: phase.ciphertexts * (parties + 1) for phase in phases if phase.cells}
        assert sent == {name: count for name, count in run["ciphertexts"].items() if count}


def test_bytes_are_those_of_the_ciphertexts_or_of_the_masked_words() -> None:
    _, (phase,) = planned("one-way", 3)
    assert phase.bytes == phase.ciphertexts * 2 * KEY_BITS // 8
    _, (masked,) = planned("one-way", 3, MASKS)
    assert (masked.ciphertexts, masked.bytes) == (0, 8 * sum(DOMAIN))
    assert masked.relayed == masked.bytes * 7


def test_the_error_is_what_the_noise_makes() -> None:
    """The mean over many draws of half the L1 norm of the noise, over the rows."""
    _, (phase,) = planned("one-way", 2)
    scale = Fraction(2 * len(DOMAIN))
    noise = discrete_laplace(scale, 200_000, SystemEntropy())
    # With t = 1 of two parties the noise amounts to two variables.
    drawn = noise[::2] + noise[1::2]
    expected = np.abs(drawn).mean() * np.mean(DOMAIN) / (2 * 2 * ROWS)
    assert phase.error is not None
    assert phase.error == pytest.approx(expected, rel=0.15), "Laplace noise taken for what two of them are"
    small = planned_session(make_schema(DOMAIN), {"a": ROWS, "b": ROWS}, 1, PureBudget(Fraction(1, 1000)))
    session = rehearse(small, "one-way", {})
    assert Planner(session, 1, PAILLIER, KEY_BITS).phases()[0].error == 1.0, "no distance is larger"


@pytest.mark.process
@pytest.mark.parametrize("algorithm", sorted(ALGORITHMS))
def test_nothing_is_drawn_from_chance_so_a_plan_is_the_same_each_time(algorithm: str) -> None:
    first, second = (planned(algorithm, 3)[0].record.costs for _ in range(2))
    assert first == second


def test_seconds_follow_from_products_and_powers() -> None:
    session, _ = planned("one-way", 3)
    free = Planner(session, 1, PAILLIER, KEY_BITS, Arithmetic(0.0, 0.0)).phases()[0].seconds
    combining = Planner(session, 1, PAILLIER, KEY_BITS, Arithmetic(product=1.0, power=0.0)).phases()[0]
    # Encrypt, re-randomise, and add three, on two cores.
    assert combining.seconds == pytest.approx(combining.ciphertexts * (30 + 30 + 3) / 2, abs=2 * free)
    opening = Planner(session, 1, PAILLIER, KEY_BITS, Arithmetic(product=0.0, power=1.0)).phases()[0]
    assert opening.seconds == pytest.approx(opening.ciphertexts * 2 / 2, abs=2 * free)
    short = Planner(session, 1, SumKind(Method.PAILLIER, Exponents.SHORT), KEY_BITS, Arithmetic(1.0, 0.0)).phases()[0]
    assert short.seconds == combining.seconds, "256 bits are half of 512"
    assert [products(kind, 3072) for kind in Exponents] == [140, 30, 3584], "docs/performance.md"


def test_masks_are_counted_by_cells_and_by_what_the_curator_relays() -> None:
    _, (few,) = planned("one-way", 3, MASKS)
    _, (more,) = planned("one-way", 9, MASKS)
    assert few.seconds == pytest.approx(few.cells * CELL_SECONDS + few.relayed * RELAYED_SECONDS)
    assert more.relayed > 2 * few.relayed
    assert more.seconds > few.seconds


@pytest.mark.process
@pytest.mark.parametrize("algorithm", sorted(ALGORITHMS))
def test_what_an_algorithm_is_declared_to_ask_for_is_what_it_asks_for(algorithm: str) -> None:
    """Parties go by the declaration: it is all that a run of this algorithm may ask of them."""
    known, drawn, summed = ALGORITHMS[algorithm], False, False
    for rows in (100, 10_000, 1_000_000):
        budget = known.budget({}, ONE, APPROXIMATE.get(algorithm, Fraction(0)))
        session = rehearse(planned_session(make_schema(DOMAIN), {"a": rows, "b": rows}, 1, budget), algorithm, {})
        drawn, summed = drawn or bool(session.selections), summed or bool(session.rounds)
    assert (drawn, summed) == (known.selects, not known.apart)


@pytest.mark.parametrize("schedule", ["final", "uniform", "back-loaded", "1/2,1/2"])
def test_who_opens_sums_over_some_of_the_parties_declares_it(schedule: str) -> None:
    session = planned_session(make_schema(DOMAIN), {"a": ROWS, "b": ROWS}, 1, PureBudget(ONE))
    rehearse(session, "dp-subn", {"schedule": schedule})
    replaced = [round_.replacement for round_ in session.rounds if round_.replacement is not None]
    parts = any(replacement.coverage < 2 for replacement in replaced)
    assert parts == ALGORITHMS["dp-subn"].reveals_running_sums({"schedule": schedule})
