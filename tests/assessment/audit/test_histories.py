"""The audit of histories: neighbours differ in all of a person in two files; readers that look further fail it."""

from dataclasses import replace

import numpy as np
import pytest

from privity.assessment.audit import histories
from privity.assessment.audit.auditor import audit
from privity.common.data import history_reading
from privity.common.data.history_steps import Coded, steps_of

ONE, TWO = (histories.steps_of_histories(events, 400, 0) for events in (1, 2))


def holds(subject):
    """The noise is the operating system's, so a claim that seems broken by chance is audited once more."""
    return all(finding.holds for finding in audit([subject], confirm=True))


@pytest.mark.statistical
@pytest.mark.parametrize("subject", [ONE, TWO], ids=lambda subject: subject.name)
def test_steps_from_two_files_hold_their_claim(subject):
    assert holds(subject)


@pytest.mark.statistical
def test_a_person_who_weighs_by_events_turns_it_red(monkeypatch):
    """Every event is a row."""

    def every_event(schema, persons, events, order, hashes):
        table, numbers, disorders = steps_of(schema, persons, events, order, hashes)
        found = np.concatenate([np.flatnonzero(persons.keys == key) for key in events.keys])
        columns = [column[found] for column in table.columns]
        for attribute, codes in enumerate(events.columns):
            if (name := f"events.{schema.history.events.names[attribute]}") in schema.names:
                columns[schema.index(name)] = codes
        return replace(table, columns=tuple(columns)), numbers, disorders

    monkeypatch.setattr(history_reading, "steps_of", every_event)
    assert not holds(ONE)


@pytest.mark.statistical
def test_a_draw_that_depends_on_others_turns_it_red(monkeypatch):
    """Which event counts follows from how many events there are in all."""

    def shared(schema, persons, events, order, hashes):
        some = [(each + (len(order) > 45) * 2**31) % 2**32 for each in hashes]
        return steps_of(schema, persons, events, order, some)

    monkeypatch.setattr(history_reading, "steps_of", shared)
    assert not holds(TWO)


@pytest.mark.statistical
def test_a_cut_without_order_turns_it_red(monkeypatch):
    """So many events of the file count, whoever has them."""

    def cut(schema, persons, events, order, hashes):
        some, kept = list(hashes), slice(len(persons.keys))
        first = Coded([column[kept] for column in events.columns], events.keys[kept])
        return steps_of(schema, persons, first, order[kept], some)

    monkeypatch.setattr(history_reading, "steps_of", cut)
    assert not holds(ONE)
