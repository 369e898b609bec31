"""Patients and admissions of a known law, to judge histories by: a hidden frailty makes the events of a person alike.

A department is the last one in 35 % of cases, the first one in 20 %, which a chain of first order cannot know, the one
that follows the last one in 10 %, and else by age and sex. The length of stay goes by department, age, frailty and the
stay before; the gap by department, frailty and urgency; urgency by department, frailty and the urgency before; the
number of events, at most 12, by age, region and frailty.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt

from privity.common.data.coded_table import CodedTable
from privity.common.data.history_steps import Coded, Histories, hashed, in_order, steps_of
from privity.common.data.schema import Schema, parse_schema

Whole = npt.NDArray[np.int64]

MOST = 12
GAPS = 6
DAYS = 10
"""Of a bin of gaps."""

STAYS = (1, 2.5, 5, 10, 21)
LAW_SEED = 5
AGES = (0.1, 0.15, 0.2, 0.2, 0.2, 0.15)
WAYS = (0.35, 0.2, 0.1, 0.35)
"""The last department, the first one, the one that follows, any."""

NEXT = np.array([3, 0, 5, 4, 3, 5])


def history_schema(before: list[str] | None = None) -> Schema:
    """Attributes are codes; a gap is in the middle of its bin, of so many days."""

    def codes(name: str, size: int, *, ordered: bool) -> dict[str, Any]:
        field = {"name": name, "type": "integer", "categories": [*range(size)]}
        return field | ({"categoriesOrdered": True} if ordered else {})

    key = {"name": "patient", "type": "integer", "generate": "number"}
    about = [codes("age", 6, ordered=True), codes("sex", 2, ordered=False), codes("region", 4, ordered=False)]
    stay = {"name": "stay", "type": "number", "categories": [*STAYS], "categoriesOrdered": True}
    happening = [codes("ward", 6, ordered=False), codes("urgent", 2, ordered=False), stay]
    edges = [DAYS * place for place in range(GAPS + 1)]
    history = {"order": "day", "most": MOST, "gap": {"edges": edges}} | ({} if before is None else {"before": before})
    link = {"fields": "patient", "reference": {"resource": "patients", "fields": "patient"}}
    day = {"name": "day", "type": "integer", "edges": [0, 1, 1_000_000]}
    events = {"foreignKeys": [link], "history": history, "fields": [{**key, "generate": None}, day, *happening]}
    events["fields"] = [{"name": "patient", "type": "integer"}, day, *happening]
    resources = [
        {"name": "patients", "schema": {"primaryKey": "patient", "fields": [key, *about]}},
        {"name": "admissions", "schema": events},
    ]
    return parse_schema({"format_version": 1, "resources": resources}, "invented histories")


@dataclass(frozen=True)
class Invented:
    """Codes of both tables, and the day of each event."""

    schema: Schema
    persons: Coded
    events: Coded
    days: Whole

    @cached_property
    def steps(self) -> CodedTable:
        """One row a person."""
        hashes = (hashed(str(number)) for number in range(len(self.persons.keys)))
        return steps_of(self.schema, self.persons, self.events, self.days, hashes)[0]

    @cached_property
    def histories(self) -> Histories:
        assert self.schema.history is not None
        return in_order(self.schema.history, self.persons, self.events, self.days)[0]


def invented(persons: int, seed: int, schema: Schema) -> Invented:
    """So many patients and their admissions."""
    generator, law = np.random.default_rng(seed), np.random.default_rng(LAW_SEED)
    age = _drawn(np.tile(AGES, (persons, 1)), generator)
    sex, region = generator.integers(0, 2, persons), generator.integers(0, 4, persons)
    weights = np.stack([1.2 - 0.35 * age, 0.5 + 0 * age, -1.2 + 0.35 * age], axis=1)
    frail = _drawn(_softmax(weights), generator)
    mean = np.exp(0.5 + 0.14 * age + 0.55 * (frail - 0.8) + 0.12 * (region == 2))
    counts = np.minimum(generator.poisson(mean * generator.gamma(2.5, 1 / 2.5, persons)), MOST)
    wards = _softmax(law.normal(0, 0.9, (6, 2, 6)))
    urgency, stays = law.normal(0, 0.8, 6), law.normal(1.6, 0.7, 6)
    first, past, day = np.zeros(persons, np.int64), np.zeros((3, persons), np.int64), np.zeros(persons, np.int64)
    parts = []
    for position in range(1, MOST + 1):
        who = np.flatnonzero(counts >= position)
        ward = _drawn(wards[age[who], sex[who]], generator)
        before_urgent, before_stay = np.zeros(len(who), np.int64), np.full(len(who), 1)
        if position > 1:
            way = _drawn(np.tile(WAYS, (len(who), 1)), generator)
            ward = np.choose(way, [past[0][who], first[who], NEXT[past[0][who]], ward])
            before_urgent, before_stay = past[1][who], past[2][who]
        else:
            first[who] = ward
        chance = urgency[ward] - 0.9 + 0.6 * frail[who] + 0.9 * before_urgent
        urgent = (generator.random(len(who)) < 1 / (1 + np.exp(-chance))).astype(np.int64)
        longer = stays[ward] + 0.15 * age[who] + 0.5 * (frail[who] - 1) + 0.35 * (before_stay - 1.5)
        stay = np.digitize(longer + generator.normal(0, 0.9, len(who)), [0.8, 1.6, 2.4, 3.2])
        apart = 3.2 - 0.7 * frail[who] - 0.5 * before_urgent + 0.6 * (ward == 4)
        gap = np.digitize(apart + generator.normal(0, 1.2, len(who)), [0.7, 1.6, 2.5, 3.4, 4.3])
        if position > 1:
            day[who] += DAYS * gap + DAYS // 2
        past[:, who] = ward, urgent, stay
        parts.append((who, day[who], ward, urgent, stay))
    owners, days, *columns = (np.concatenate(each) for each in zip(*parts, strict=True))
    codes = [np.minimum(days, 1), *columns]
    return Invented(
        schema,
        Coded([column.astype(np.uint8) for column in (age, sex, region)], np.arange(persons)),
        Coded([column.astype(np.uint8) for column in codes], owners),
        days,
    )


def _softmax(weights: npt.NDArray[np.float64]) -> npt.NDArray[np.float64]:
    found = np.exp(weights - weights.max(axis=-1, keepdims=True))
    return found / found.sum(axis=-1, keepdims=True)


def _drawn(law: npt.NDArray[np.float64], generator: np.random.Generator) -> Whole:
    upto = law.cumsum(axis=-1)
    return (upto < generator.random(len(law))[:, None]).sum(axis=-1).clip(0, law.shape[-1] - 1)
