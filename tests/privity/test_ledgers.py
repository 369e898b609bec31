"""``Ledger``: totals, what is spent and left, and every line, as the file says now."""

from __future__ import annotations

import pickle
from concurrent.futures import ThreadPoolExecutor
from decimal import Decimal
from fractions import Fraction
from pathlib import Path

import pandas as pd
import pytest

from privity import Ledger, OneWay, declare_population
from privity.common.errors import Catalogue, PrivityError, at_commands
from tests.harness.tables import FIELDS, people
from tests.privity.test_releases import EVIL

SCHEMA = {"name": "people", "fields": FIELDS}


@pytest.fixture
def patients(tmp_path: Path) -> str:
    """People of each test: an account has one ledger of a population."""
    return f"patients of {tmp_path.name}"


@pytest.mark.parametrize("one", [1, 1.0, "1", Fraction(1), Decimal("1.0")])
@pytest.mark.parametrize("small", [1e-6, "1e-6", Decimal("0.000001"), Fraction(1, 10**6)])
def test_totals_are_exact_whatever_they_were_written_as(
    tmp_path: Path, patients: str, one: object, small: object
) -> None:
    ledger = declare_population(patients, total_epsilon=one, total_delta=small, ledger=tmp_path / "ledger")
    assert (ledger.total_epsilon, ledger.total_delta) == (1, Fraction(1, 10**6))
    assert (ledger.spent, ledger.left, ledger.spent_delta, ledger.left_delta) == (0, 1, 0, Fraction(1, 10**6))
    assert repr(ledger.total_delta) == "0.000001"
    assert ledger.rows_per_person == 1
    again = declare_population(patients, total_epsilon=1, total_delta=1e-6, ledger=tmp_path / "ledger")
    assert again.left == 1


def test_it_counts_what_others_charge(tmp_path: Path, patients: str) -> None:
    file = tmp_path / "ledger"
    ledger = declare_population(patients, total_epsilon=2, total_delta=1e-6, ledger=file)
    OneWay("1/3", population=patients, ledger=file).fit(people(300), SCHEMA)
    OneWay(1, delta=1e-9, population=patients, ledger=file).fit(people(300), SCHEMA)
    assert (ledger.spent, ledger.spent_delta) == (Fraction(4, 3), Fraction(1, 10**9))
    assert ledger.left == Fraction(2, 3)
    assert repr(ledger.left) == "0.666667"
    lines = ledger.lines
    assert lines.columns.tolist() == ["time", "node", "run", "step", "epsilon", "delta", "rho", "answered"]
    assert lines["epsilon"].sum() == pytest.approx(4 / 3)
    assert lines["step"][0] == "total: epsilon 2, delta 0.000001, 1 row a person"
    assert lines["answered"].tolist() == [pd.NA, *[pd.NA, True, pd.NA] * 2]
    assert ledger.reserved == 0
    assert lines["rho"].notna().tolist() == [False] * 5 + [True, False]
    assert str(lines["time"].dtype).endswith("UTC]")
    for shown in (repr(ledger), ledger._repr_html_()):
        for part in ("1.33333 spent, 0.666667 left of 2", lines["run"][1], lines["run"][2]):
            assert part in shown


def test_threads_and_pickles_share_the_file(tmp_path: Path, patients: str) -> None:
    ledger = pickle.loads(pickle.dumps(declare_population(patients, total_epsilon=9, ledger=tmp_path / "ledger")))
    fit = OneWay("0.5", population=patients, ledger=tmp_path / "ledger").fit
    with ThreadPoolExecutor(4) as pool:
        list(pool.map(lambda _: fit(people(50), SCHEMA), range(4)))
        assert set(pool.map(lambda _: ledger.spent, range(8))) == {2}


def test_a_declared_population_is_the_same_either_way() -> None:
    declare_population("the north", total_epsilon=3)
    assert Ledger("the north").total_epsilon == 3


def test_a_name_is_no_markup(tmp_path: Path) -> None:
    name = EVIL.removesuffix("\u202e")
    page = declare_population(name, total_epsilon=1, ledger=tmp_path / "ledger")._repr_html_()
    assert "<script>" not in page
    assert "&lt;script&gt;" in page


@pytest.mark.parametrize(
    ("terms", "said"),
    [
        ({"total_epsilon": 0}, "total_epsilon: '0' is not from"),
        ({"total_epsilon": True}, "total_epsilon: 'True' is not a positive number"),
        ({"total_epsilon": 1, "total_delta": 2}, "total_delta: '2' is not a number"),
        ({"total_epsilon": 1, "rows_per_person": 1.5}, "rows_per_person: 1.5 is not a number of rows"),
        ({"total_epsilon": 1, "name": 3}, "population: 3 is not a name"),
    ],
)
def test_a_declaration_that_cannot_be_is_named(tmp_path: Path, terms: dict[str, object], said: str) -> None:
    with pytest.raises(PrivityError) as refused:
        declare_population(**{"name": "patients", "ledger": tmp_path / "ledger"} | terms)
    assert said in refused.value.message
    assert refused.value.remedy


def test_what_was_not_declared_is_named() -> None:
    declare_population("patients of the south", total_epsilon=1)
    with pytest.raises(PrivityError, match="is 'patients of the south' meant") as refused:
        Ledger("patients of the soth")
    assert refused.value.kind is Catalogue.POPULATION_UNDECLARED
    with pytest.raises(PrivityError, match="population: a int is no name"):
        Ledger(3)  # type: ignore[arg-type]
    with pytest.raises(PrivityError, match="declared already, with epsilon 1"):
        declare_population("patients of the south", total_epsilon=2)


def test_a_ledger_is_changed_merged_and_adjusted_and_all_are_listed(tmp_path: Path, patients: str) -> None:
    ledger = declare_population(patients, total_epsilon=2, ledger=tmp_path / "ledger")
    with pytest.raises(PrivityError, match="add raise_total=True"):
        ledger.change(total_epsilon=3)
    assert ledger.change(total_epsilon=3, raise_total=True).left == 3
    assert ledger.change(rows_per_person=2).rows_per_person == 2
    assert ledger.adjust(spent_epsilon="1/2").spent == Fraction(1, 2)
    with pytest.raises(PrivityError, match="has reserved nothing"):
        ledger.give_back("nobody's run")
    with pytest.raises(PrivityError, match="no such ledger"):
        ledger.merge(tmp_path / "none")
    listed = Ledger.populations().set_index("population").loc[patients]
    assert (listed["spent"], listed["total_epsilon"], listed["note"]) == (0.5, 3, "")
    assert Path(listed["file"]) == tmp_path / "ledger"


def test_no_remedy_of_this_face_names_a_command(tmp_path: Path, patients: str) -> None:
    """But what only a node says: there is no Python of it."""
    named = {kind.name for kind in Catalogue if "privity " in (kind.value.in_python or kind.value.remedy)}
    assert named == {"NOT_ATTESTED", "TWO_NODES", "NO_PROGRESS", "QUEUE_FULL", "TOO_MANY_RUNS"}
    with at_commands():
        refused = PrivityError(Catalogue.POPULATION_UNDECLARED, population="p", file="f", known="none")
    assert "privity population declare 'p'" in refused.remedy
    with pytest.raises(PrivityError) as undeclared:
        Ledger(patients, tmp_path / "none")
    assert undeclared.value.remedy.endswith(f"declare_population({patients!r}, total_epsilon=TOTAL).")
