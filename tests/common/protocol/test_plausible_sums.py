"""Revealed tables against public numbers: noise passes by its exact law, and what no rows give is found."""

from __future__ import annotations

import asyncio
import math
from collections.abc import Callable, Sequence
from fractions import Fraction
from itertools import count
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from privity.common.data.coded_table import CodedTable
from privity.common.data.derived_attributes import DerivedAttributes
from privity.common.data.noisy_tables import NoisyTable
from privity.common.data.schema import Schema, parse_schema
from privity.common.data.table_reading import encode
from privity.common.errors import Catalogue, PrivityError, ProblemsFound
from privity.common.formats import read_json
from privity.common.privacy.mechanisms import Noise
from privity.common.privacy.noise_distribution import GAUSSIAN, LAPLACE, NoiseLaw
from privity.common.protocol.evaluation_scores import Evaluation
from privity.common.protocol.plausible_sums import CHANCE, PlausibleSums, reach
from privity.common.release.release_folder import unfit_file
from privity.common.release.report.report_page import report_of
from privity.common.release.verification.release_verification import check_release
from privity.curator.run_state_machine import FAILED
from privity.party import answers_from_rows
from privity.party.sources.rows import InMemory
from tests.curator.test_run_driver import end_of
from tests.curator.test_signed_releases import request
from tests.harness.consortium import TestConsortium, make_consortium, make_schema, open_policy
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
    cells=st.integers(1, 12),
    chance=st.sampled_from([0.3, 1e-3, 1e-6, 1e-9]),
)
def test_the_exact_law_of_a_sum_of_noise_is_within_the_bound(
    name: str, scale: Fraction, cells: int, chance: float
) -> None:
    """Convolved, not sampled."""
    law = NoiseLaw(name, scale)
    whole = np.fft.fftshift(np.fft.irfft(np.fft.rfft(np.fft.ifftshift(law_of(law))) ** cells))
    bound = reach(law, cells, Fraction(1), chance)
    assert whole[np.abs(np.arange(whole.size) - whole.size // 2) > bound].sum() <= chance + 1e-13


@pytest.mark.parametrize("tolerate", [1, 2])
@pytest.mark.parametrize("name", [LAPLACE, GAUSSIAN])
def test_the_exact_law_of_the_shares_of_all_parties_is_within_the_bound(name: str, tolerate: int) -> None:
    """More than one whole noise: each of three parties adds what is one of K - t shares."""
    law, parties = NoiseLaw(name, Fraction(40)), 3
    size = 1 << 12
    if name == LAPLACE:
        # A share is the difference of two variables of the Polya law of 1/(K - t).
        ratio, tops = math.exp(-1 / 40), np.arange(size // 2 - 1)
        factors = ratio * (tops + 1 / (parties - tolerate)) / (tops + 1)
        polya = np.concatenate([[1.0], np.cumprod(factors), np.zeros(size // 2)])
        transformed = np.abs(np.fft.fft(polya / polya.sum())) ** 2
    else:
        transformed = np.fft.fft(np.fft.ifftshift(law_of(NoiseLaw(name, law.scale / (parties - tolerate)), size)))
    whole = np.fft.fftshift(np.fft.ifft(transformed**parties).real)
    variables = Fraction(parties, parties - tolerate)
    assert whole @ (np.arange(size) - size // 2) ** 2 == pytest.approx(
        parties * law.share_variance(parties - tolerate), rel=1e-6
    )
    for chance in (1e-3, 1e-6, 1e-9):
        beyond = np.abs(np.arange(size) - size // 2) > reach(law, 1, variables, chance)
        assert whole[beyond].sum() <= chance + 1e-13


@pytest.mark.parametrize("law", [NARROW, NoiseLaw(GAUSSIAN, Fraction(40))])
@pytest.mark.parametrize("cells", [1, 100])
def test_the_bound_is_near_the_law(law: NoiseLaw, cells: int) -> None:
    """It finds what lies a little beyond what the noise does."""
    whole = np.fft.fftshift(np.fft.irfft(np.fft.rfft(np.fft.ifftshift(law_of(law))) ** cells))
    tails = [whole[np.abs(np.arange(whole.size) - whole.size // 2) > x].sum() for x in range(600)]
    exact = next(x for x, tail in enumerate(tails) if tail <= 1e-9)
    assert exact <= reach(law, cells, Fraction(1), 1e-9) < 1.3 * exact


# Attributes 0 to 2 of two values; 3 of four, which has derived ones.
DERIVED = DerivedAttributes(make_schema((2, 2, 2, 4)).attributes)
BIT = DERIVED.bits(3)[0]


def table(*attributes: int, counts: object, rows: int = ROWS, law: NoiseLaw = NARROW) -> NoisyTable:
    return NoisyTable(tuple(attributes), np.array(counts, dtype=np.int64), law, 1.0, rows)


def sums() -> PlausibleSums:
    return PlausibleSums(DERIVED, Fraction(3, 2))


def test_tables_of_the_same_rows_pass() -> None:
    judged = sums()
    assert judged.fault([table(0, counts=[400, 600]), table(1, 0, counts=[[100, 200], [300, 400]])]) is None
    assert judged.fault([table(0, 1, counts=[[100, 300], [200, 400]])]) is None
    assert judged.fault([table(0, counts=[40, 60], rows=100)]) is None, "a part of the rows, as a running sum has them"
    assert judged.fault([table(BIT, counts=[300, 700]), table(3, counts=[100, 200, 300, 400])]) is None
    assert judged.fault_of_scores([0, 1000, 400], NARROW, ROWS) is None


FOREIGN = [
    ([table(0, counts=[400, 800])], "does not add up to its 1000 rows"),
    ([table(0, counts=[-70_000, 71_000])], "a count of A0 is not between 0 and the 1000 rows"),
    ([table(0, counts=[-(2**63), -(2**63)])], "a count of A0 is not between"),
    (
        [table(0, counts=[400, 600]), table(0, 1, counts=[[300, 300], [200, 200]])],
        "two tables do not say the same of A0",
    ),
    (
        [
            table(0, 1, counts=[[400, 100], [200, 300]]),
            table(1, 0, 2, counts=[[[200, 0], [0, 400]], [[0, 300], [100, 0]]]),
        ],
        "do not say the same of A1, A0",
    ),
    ([table(3, counts=[100, 200, 300, 400]), table(BIT, counts=[800, 200])], "the same of A3:bit0"),
    ([table(BIT, 0, counts=[[800, 0], [100, 100]]), table(3, counts=[100, 200, 300, 400])], "the same of A3:bit0"),
]


@pytest.mark.parametrize(("tables", "said"), FOREIGN)
@pytest.mark.parametrize("apart", [False, True])
def test_what_no_rows_give_is_found(tables: list[NoisyTable], said: str, apart: bool) -> None:
    judged = sums()
    faults = [judged.fault([one]) for one in tables] if apart else [judged.fault(tables)]
    assert said in (faults[-1] or "")
    assert not any(faults[:-1])


def test_a_table_is_compared_with_the_most_exact_one_before_it() -> None:
    wide = NoiseLaw(LAPLACE, Fraction(50))
    judged = sums()
    assert judged.fault([table(0, counts=[300, 700], law=wide), table(0, counts=[600, 400])]) is None
    assert judged.fault([table(0, counts=[300, 700], law=wide)]) is None
    assert "the same of A0" in (judged.fault([table(0, counts=[400, 600])]) or "")


def test_noise_that_may_not_fit_is_not_added_up() -> None:
    wide = NoiseLaw(LAPLACE, Fraction(2**56))
    cells = np.full((2, 2, 2), 2**60)
    assert sums().fault([table(0, 1, 2, counts=cells, law=wide), table(1, 0, 2, counts=cells, law=wide)]) is None


def test_scores_lie_between_none_and_all_rows() -> None:
    assert "a score" in (sums().fault_of_scores([5, 1300], NARROW, ROWS) or "")
    assert "a score" in (sums().fault_of_scores([-300, 5], NARROW, ROWS) or "")


def chances_of(judged: PlausibleSums, *rounds: Callable[[PlausibleSums], object]) -> list[float]:
    """With what probability each count that these rounds give may be farther from the true one."""
    used: list[float] = []
    with pytest.MonkeyPatch.context() as patch:
        module = "privity.common.protocol.plausible_sums.reach"
        patch.setattr(module, lambda law, cells, variables, chance: used.append(chance) or 10**9)
        for one in rounds:
            one(judged)
    return used


def test_all_rounds_of_a_run_share_the_chance_of_a_false_alarm() -> None:
    """Whatever is compared with what: every count of every table has a part of it, over other codes too."""
    used, first = 0.0, sums()
    for number in range(30):
        judged = first.of_other_codes(DERIVED) if number % 3 else first
        tables = [table(0, counts=[400, 600]), table(1, counts=[400, 600])]
        # Of a table of one attribute: its two cells, and their sum.
        cells, whole = chances_of(judged, lambda one, tables=tables: one.fault(tables))
        used += len(tables) * (2 * cells + whole)
        (scored,) = chances_of(judged, lambda one: one.fault_of_scores([1, 2, 3], NARROW, ROWS))
        used += 3 * scored
    assert 0.9 * CHANCE < used < CHANCE


def test_readers_of_a_release_allow_what_the_curator_allowed() -> None:
    """They have some tables of a round, or none."""
    narrow = table(0, counts=[400, 600])
    at_curator = chances_of(
        sums(), lambda one: one.fault([narrow]), lambda one: one.fault([narrow] * 5), lambda one: one.fault([narrow])
    )
    at_reader = chances_of(
        sums(), lambda one: one.fault([], revealed=1), lambda one: one.fault([narrow] * 2, revealed=5),
        lambda one: one.fault([narrow], revealed=1),
    )  # fmt: skip
    assert at_reader == at_curator[2:]


OVER_SUMS: list[tuple[str, dict[str, object], int]] = [
    ("aim", {"tables": 3}, 40),
    ("copula", {}, 0),
    ("discover", {}, 40),
    ("dp-ccbn", {}, 0),
    ("dp-subn", {"schedule": "uniform"}, 40),
    ("jtree", {}, 0),
    ("mst", {}, 40),
    ("privbayes", {"encoding": "gray"}, 0),
    ("privbayes", {"encoding": "hierarchical"}, 40),
    ("privhd", {}, 0),
]


@pytest.mark.parametrize(("algorithm", "settings", "absent"), OVER_SUMS)
def test_without_noise_whatever_an_algorithm_asks_for_agrees_to_the_last_row(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, algorithm: str, settings: dict[str, object], absent: int
) -> None:
    """So with noise nothing but noise is between the numbers; at readers of the release, too."""
    zeros = lambda self, cells, quota, entropy: np.zeros(int(np.sum(cells)), dtype=np.int64)  # noqa: E731
    monkeypatch.setattr(Noise, "sample", zeros)
    monkeypatch.setattr("privity.common.protocol.plausible_sums.reach", lambda *_: 0)
    compared: list[int] = []
    real = PlausibleSums.fault

    def fault(self: PlausibleSums, tables: Sequence[NoisyTable], revealed: int = 0) -> str | None:
        compared.append(len(tables))
        return real(self, tables, revealed)

    monkeypatch.setattr(PlausibleSums, "fault", fault)
    fields = [*make_schema((2, 3)).table_schema()["fields"]]
    number = {"name": "pay", "type": "integer", "constraints": {"minimum": 0, "maximum": 49}}
    open_or_not = {"domain": "discover"} if algorithm == "discover" else {"bins": 5}
    fields.append({**number, **open_or_not})
    schema = parse_schema({"fields": fields, **({"absentRows": True} if absent else {})}, "s")

    def rows_of(party: str, by: Schema) -> CodedTable:
        generator = np.random.default_rng(int(party[-1]))
        pay = generator.integers(0, 50, 60)
        frame = pd.DataFrame({"A0": (pay % 2).astype(str), "A1": (pay % 3).astype(str), "pay": pay})
        table = encode(frame, by, party)
        return table.with_absent(absent) if absent else table

    names = ("party-1", "party-2", "party-3")
    consortium = TestConsortium(
        {name: rows_of(name, schema) for name in names},
        policies={name: open_policy(rows_per_person=2 if absent else 1) for name in names},
        recode=lambda party, by: InMemory(rows_of(party, by)),
    )
    consortium.drive(
        tmp_path / "release", algorithm=algorithm, settings=settings, epsilon=Fraction(40), tolerate=2,
        evaluation=None if algorithm == "discover" else Evaluation(Fraction(1)),
    )  # fmt: skip
    at_curator = len(compared)
    assert check_release(tmp_path / "release")
    assert at_curator
    assert len(compared) > at_curator


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
            run = network.submit("t", request(), "autumn")
            state, reason = await end_of(runs, run)
            assert state == FAILED
            assert "is no sum of their rows and noise: a count of A0 is not between 0 and the 60 rows" in reason
            assert "party-" not in reason
            with pytest.raises(PrivityError):
                runs.resume(run)
            release = tmp_path / "curator" / "releases" / "autumn"
            assert [*release.parent.iterdir()] == [unfit_file(release)]
            assert unfit_file(release).stat().st_mode & 0o777 == 0o600
            kept = read_json(unfit_file(release))
            assert any(count < AMOUNT / 2 for table in kept["tables"] for count in table["counts"])
            return network

    network = asyncio.run(scenario())
    assert {party.ledger.spent() for party in network.consortium.parties.values()} == {1}


@pytest.mark.usefixtures("one_is_foreign")
def test_a_release_of_a_curator_that_does_not_compare_is_refused_by_its_readers(tmp_path: Path) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(PlausibleSums, "fault", lambda self, tables, revealed=0: None)
        make_consortium(3, domain=(2, 3), rows=20).drive(tmp_path / "release", algorithm="one-way")
    for read in (check_release, report_of):
        with pytest.raises(ProblemsFound) as found:
            read(tmp_path / "release")
        assert Catalogue.IMPLAUSIBLE_SUM.value.code in {problem.rule for problem in found.value.problems}
