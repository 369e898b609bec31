"""Write one table of admissions as three hospitals keep it: invented people, in three shapes.

``python examples/own_words/write_rows.py FOLDER`` writes ``north.csv``, ``south.csv`` and ``east.csv``.
"""

from __future__ import annotations

import csv
import random
import sys
from collections.abc import Callable
from datetime import date, timedelta
from decimal import Decimal
from pathlib import Path
from typing import Any

ROWS = 400
POUND = Decimal("0.45359237")
Person = dict[str, Any]


def person(draw: random.Random) -> Person:
    """One admission, in no hospital's words."""
    old = draw.random() < 0.4
    return {
        "sex": draw.choice(["female", "male"]),
        "age": draw.randint(65, 95) if old else draw.randint(18, 64),
        "weight": Decimal(draw.randint(450, 1200)) / 10,
        "day": date(2024, 1, 1) + timedelta(draw.randrange(366)),
        "kind": "emergency" if draw.random() < (0.7 if old else 0.3) else "elective",
        "diabetes": draw.random() < (0.3 if old else 0.1),
    }


def north(one: Person) -> dict[str, Any]:
    """German names, codes and dates, kilograms with a comma; -1 where nobody weighed."""
    return {
        "Fallnummer": one["number"],
        "Geschlecht": {"female": "w", "male": "m"}[one["sex"]],
        "Alter": one["age"],
        "Gewicht_kg": "-1" if one["number"] % 25 == 0 else str(one["weight"]).replace(".", ","),
        "Aufnahme": f"{one['day']:%d.%m.%Y}",
        "Aufnahmegrund": {"emergency": "N", "elective": "E"}[one["kind"]],
        "Diabetes": {True: "ja", False: "nein"}[one["diabetes"]],
    }


def south(one: Person) -> dict[str, Any]:
    """The consortium's codes, but other names, pounds and American dates."""
    return {
        "Sex": one["sex"],
        "AgeYears": one["age"],
        "weight_lb": (one["weight"] / POUND).quantize(Decimal("0.1")),
        "AdmissionDate": f"{one['day']:%m/%d/%Y}",
        "AdmissionType": one["kind"],
        "diabetes": str(one["diabetes"]).lower(),
    }


def east(one: Person) -> dict[str, Any]:
    """A flat extract of OMOP: concept ids, weight in pounds as a measurement, ISO dates."""
    return {
        "person_id": 70_000 + one["number"],
        "visit_occurrence_id": 9_000_000 + one["number"],
        "gender_concept_id": {"female": 8532, "male": 8507}[one["sex"]],
        "age_at_visit": one["age"],
        "visit_concept_id": {"emergency": 9203, "elective": 9201}[one["kind"]],
        "visit_start_date": one["day"].isoformat(),
        "measurement_value_as_number": (one["weight"] / POUND).quantize(Decimal("0.1")),
        "measurement_unit_concept_id": 8739,
        "condition_concept_id": {True: 201826, False: 0}[one["diabetes"]],
    }


SHAPES: dict[str, tuple[Callable[[Person], dict[str, Any]], str]] = {
    "north": (north, ";"),
    "south": (south, ","),
    "east": (east, ","),
}


def write(folder: Path) -> dict[str, list[Person]]:
    """Write the three files; gives the people in them."""
    written = {}
    for seed, (name, (shape, delimiter)) in enumerate(SHAPES.items()):
        draw = random.Random(seed)  # noqa: S311 - invented people
        written[name] = [{**person(draw), "number": number} for number in range(1, ROWS + 1)]
        rows = [shape(one) for one in written[name]]
        with open(folder / f"{name}.csv", "w", encoding="utf-8", newline="") as file:
            writer = csv.DictWriter(file, rows[0], delimiter=delimiter)
            writer.writeheader()
            writer.writerows(rows)
    return written


if __name__ == "__main__":
    write(Path(sys.argv[1]))
