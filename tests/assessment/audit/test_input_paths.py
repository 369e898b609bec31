"""The audit from a file's bytes, or a DataFrame, to the release: readers of whole columns turn it red."""

from __future__ import annotations

import pytest

from privity.assessment.audit.auditor import audit
from privity.assessment.audit.input_paths import (
    INTEGERS,
    LETTERS,
    NUMBERS,
    TYPES_ALONE,
    input_subjects,
    missing_frame,
    ordered_csv,
    release_of,
)
from privity.assessment.audit.subject import Subject
from privity.party.sources import person_slots
from tests.harness.column_readers import column_as_text, ranks_by_all, types_by_dtype

ORDERED = release_of("order", LETTERS, ([21, 0], [20, 1]), ordered_csv, 400, 0)
MISSING = release_of("missing", NUMBERS, ([20, 1, 0], [20, 0, 1]), missing_frame, 400, 0)
TYPES = release_of("types", INTEGERS, ([20, 1, 0], [20, 0, 1]), missing_frame, 400, 0, TYPES_ALONE)


def holds(subject: Subject) -> bool:
    """The noise is the operating system's, so a claim that seems broken by chance is audited once more."""
    return all(finding.holds for finding in audit([subject], confirm=True))


@pytest.mark.statistical
@pytest.mark.parametrize("subject", [ORDERED, MISSING, TYPES], ids=lambda subject: subject.name)
def test_a_release_from_a_file_or_a_frame_holds_its_claim(subject: Subject) -> None:
    assert holds(subject)


@pytest.mark.statistical
def test_an_order_that_all_texts_of_the_column_decide_turns_it_red(monkeypatch: pytest.MonkeyPatch) -> None:
    """Finding A1: one text that is no integer chose which rows of everybody count."""
    monkeypatch.setattr(person_slots, "_ranks", ranks_by_all)
    assert not holds(ORDERED)


@pytest.mark.statistical
def test_a_column_that_is_written_as_text_by_its_type_turns_it_red(monkeypatch: pytest.MonkeyPatch) -> None:
    """Finding A2: one missing value made 1.0 of everybody's 1."""
    monkeypatch.setattr("privity.common.data.table_reading.read_column", column_as_text)
    assert not holds(MISSING)


@pytest.mark.statistical
def test_types_that_pandas_chose_turn_it_red(monkeypatch: pytest.MonkeyPatch) -> None:
    """One missing value made everybody's integers numbers."""
    monkeypatch.setattr("privity.assessment.audit.input_paths.open_schema", types_by_dtype)
    assert not holds(TYPES)


def test_every_way_in_is_audited() -> None:
    assert {subject.name.partition(",")[0] for subject in input_subjects()} == {"CSV", "Parquet", "DataFrame"}
    assert sum(bool(subject.quick_runs) for subject in input_subjects()) == 2
