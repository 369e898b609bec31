"""Revealed tables against public numbers: noise passes by its exact law, and what no rows give is found."""

from __future__ import annotations

import asyncio
from fractions import Fraction
from itertools import count
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from privity.common.data.noisy_tables import NoisyTable
from privity.common.errors import Catalogue, PrivityError, ProblemsFound
from privity.common.privacy.noise_distribution import GAUSSIAN, LAPLACE, NoiseLaw
from privity.common.protocol.plausible_sums import CHANCE, PlausibleSums, reach
from privity.common.release.release_folder import report_of
from privity.common.release.release_verification import check_release
from privity.curator.run_state_machine import FAILED
from privity.party import answers_from_rows
from tests.curator.test_run_driver import end_of
from tests.curator.test_signed_releases import request
from tests.harness.consortium import make_consortium
from tests.harness.network import NetworkConsortium

ROWS = 1000
NARROW = NoiseLaw(LAPLACE, Fraction(2))


def law_of(law: NoiseLaw, points: int = 1 << 12) -> np.ndarray:
    """Of one variable: the probabilities of -points/2 to points/2 - 1."""
    values = np.arange(-points // 2, points // 2)
    scale = float(law.scale)
    weights = np.exp(-np.abs(values) / scale) if law.name == LAPLACE else np.exp(-(values**2) / (2 * scale))
    return weights / weights.sum()


@given(
    name=st.sampled_from([LAPLACE, GAUSSIAN]),
    scale=st.fractions(Fraction(1, 5), 20, max_denominator=7),
    other=st.fractions(Fraction(1, 5), 20, max_denominator=7),
    cells=st.integers(1, 6),
    chance=st.sampled_from([0.3, 1e-3, 1e-6, 1e-9]),
)
def test_the_exact_law_of_a_sum_of_noise_is_within_the_bound(
    name: str, scale: Fraction, other: Fraction, cells: int, chance: float
) -> None:
    """Convolved, not sampled."""
    one, two = NoiseLaw(name, scale), NoiseLaw(name, other)
    transformed = np.fft.rfft(np.fft.ifftshift(law_of(one))) ** cells * np.fft.rfft(np.fft.ifftshift(law_of(two)))
    whole = np.fft.fftshift(np.fft.irfft(transformed))
    bound = reach(((one, cells), (two, 1)), Fraction(1), chance)
    beyond = np.abs(np.arange(whole.size) - whole.size // 2) > bound
    assert whole[beyond].sum() <= chance + 1e-13
    assert bound > 0


@pytest.mark.parametrize("law", [NARROW, NoiseLaw(GAUSSIAN, Fraction(40))])
def test_the_bound_is_near_the_law(law: NoiseLaw) -> None:
    """It finds what lies a little beyond what the noise does."""
    whole = law_of(law)
    tails = [whole[np.abs(np.arange(whole.size) - whole.size // 2) > x].sum() for x in range(400)]
    exact = next(x for x, tail in enumerate(tails) if tail <= 1e-9)
    assert exact <= reach(((law, 1),), Fraction(1), 1e-9) < 1.5 * exact


def table(*attributes: int, counts: object, rows: int = ROWS, law: NoiseLaw = NARROW) -> NoisyTable:
    return NoisyTable(tuple(attributes), np.array(counts, dtype=np.int64), law, 1.0, rows)


def sums(*, absent: bool = False) -> PlausibleSums:
    return PlausibleSums(Fraction(3, 2), absent=absent)


def test_tables_of_the_same_rows_pass() -> None:
    judged = sums()
    assert judged.fault([table(0, counts=[400, 600]), table(1, 0, counts=[[100, 200], [300, 400]])]) is None
    assert judged.fault([table(0, 1, counts=[[100, 300], [200, 400]])]) is None
    assert judged.fault([table(0, counts=[40, 60], rows=100)]) is None, "a part of the rows, as a running sum has them"
    assert judged.fault_of_scores(np.array([0, 1000, 400]), NARROW, ROWS) is None


FOREIGN = [
    ([table(0, counts=[400, 800])], "do not add up to its 1000 rows"),
    ([table(0, counts=[-70_000, 71_000])], "a cell is not between 0 and the 1000 rows"),
    ([table(0, counts=[400, 600]), table(0, 1, counts=[[300, 300], [200, 200]])], "do not say the same"),
    (
        [
            table(0, 1, counts=[[400, 100], [200, 300]]),
            table(1, 0, 2, counts=[[[300, 0], [0, 300]], [[0, 200], [200, 0]]]),
        ],
        "do not say the same",
    ),
]


@pytest.mark.parametrize(("tables", "said"), FOREIGN)
@pytest.mark.parametrize("apart", [False, True])
def test_what_no_rows_give_is_found(tables: list[NoisyTable], said: str, apart: bool) -> None:
    judged = sums()
    faults = [judged.fault([one]) for one in tables] if apart else [judged.fault(tables)]
    assert said in (faults[-1] or "")


def test_where_rows_may_be_absent_only_cells_are_compared_with_their_number() -> None:
    assert sums(absent=True).fault([table(0, counts=[40, 60])]) is None
    assert "a cell" in (sums(absent=True).fault([table(0, counts=[40, 1600])]) or "")


def test_scores_lie_between_none_and_all_rows() -> None:
    assert "a score" in (sums().fault_of_scores(np.array([5, 1300]), NARROW, ROWS) or "")
    assert "a score" in (sums().fault_of_scores(np.array([-300, 5]), NARROW, ROWS) or "")


def test_all_rounds_of_a_run_share_the_chance_of_a_false_alarm() -> None:
    """Over other codes too."""
    judged, used = sums(), []
    with pytest.MonkeyPatch.context() as patch:
        module = "privity.common.protocol.plausible_sums.reach"
        patch.setattr(module, lambda parts, variables, chance: used.append(chance) or float("inf"))
        for number in range(40):
            judged = judged.of_other_codes() if number % 3 else judged
            before = len(used)
            judged.fault([table(number, counts=[400, 600])])
            assert len(used) == before + 2
    # Two cells and one sum a round: what is asked for two kinds of comparisons is used by three.
    assert sum(used) * 3 / 2 < CHANCE


AMOUNT = -300


@pytest.fixture
def one_is_foreign(monkeypatch: pytest.MonkeyPatch) -> None:
    """One of three parties adds to the first cell of whatever it counts what it has no rows for."""
    real, asked = answers_from_rows.noisy_counts, count()

    def noisy_counts(tables: object, rows: object, noise: np.ndarray) -> np.ndarray:
        counts = real(tables, rows, noise)
        counts[0] += 0 if next(asked) % 3 else AMOUNT
        return counts

    monkeypatch.setattr(answers_from_rows, "noisy_counts", noisy_counts)


@pytest.mark.usefixtures("one_is_foreign")
def test_a_run_with_a_foreign_sum_ends_by_name_and_is_charged(tmp_path: Path) -> None:
    """Over TLS, at the curator: nothing is published, nobody is named, and nothing is tried again."""

    async def scenario() -> NetworkConsortium:
        async with NetworkConsortium(tmp_path, make_consortium(3, domain=(2, 3), rows=20)) as network:
            runs = network.server.runs
            run = runs.submit("t", request(), "autumn")
            state, reason = await end_of(runs, run)
            assert state == FAILED
            assert "is no sum of their rows and noise: a cell is not between 0 and the 60 rows" in reason
            assert "party-" not in reason
            with pytest.raises(PrivityError):
                runs.resume(run)
            assert not (tmp_path / "curator" / "releases" / "autumn").exists()
            return network

    network = asyncio.run(scenario())
    assert {party.ledger.spent() for party in network.consortium.parties.values()} == {1}


@pytest.mark.usefixtures("one_is_foreign")
def test_a_release_of_a_curator_that_does_not_compare_is_refused_by_its_readers(tmp_path: Path) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(PlausibleSums, "fault", lambda self, tables: None)
        make_consortium(3, domain=(2, 3), rows=20).drive(tmp_path / "release", algorithm="one-way")
    for read in (check_release, report_of):
        with pytest.raises(ProblemsFound) as found:
            read(tmp_path / "release")
        assert Catalogue.IMPLAUSIBLE_SUM.value.code in {problem.rule for problem in found.value.problems}
