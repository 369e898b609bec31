"""Patients and their admissions: a schema of histories, and tables that fit it."""

from __future__ import annotations

import copy
from typing import Any

import numpy as np
import pandas as pd

WARDS = ["surgery", "medicine", "neurology", "rehabilitation", "other"]
LAST = np.datetime64("2024-12-31")

HOSPITAL: dict[str, Any] = {
    "format_version": 1,
    "name": "hospital",
    "resources": [
        {
            "name": "patients",
            "schema": {
                "primaryKey": "patient",
                "fields": [
                    {"name": "patient", "type": "integer", "generate": "number"},
                    {"name": "sex", "type": "string", "categories": ["f", "m"]},
                    {
                        "name": "born",
                        "type": "integer",
                        "constraints": {"minimum": 1920, "maximum": 2020},
                        "bins": 5,
                        "missingValues": ["unknown"],
                    },
                ],
            },
        },
        {
            "name": "admissions",
            "schema": {
                "foreignKeys": [
                    {"fields": "patient", "reference": {"resource": "patients", "fields": "patient"}},
                ],
                "history": {
                    "order": "admitted",
                    "most": 6,
                    "before": ["previous", "so far"],
                    "gap": {"edges": ["P0D", "P8D", "P31D", "P366D", "P3653D"]},
                    "until": "2024-12-31",
                },
                "fields": [
                    {"name": "admission", "type": "integer", "generate": "number"},
                    {"name": "patient", "type": "integer"},
                    {"name": "admitted", "type": "date", "edges": ["2015-01-01", "2018-01-01", "2025-01-01"]},
                    {"name": "ward", "type": "string", "categories": WARDS},
                    {"name": "urgent", "type": "boolean"},
                    {
                        "name": "stay",
                        "type": "integer",
                        "compute": {"from": "discharged", "less": "admitted", "type": "date"},
                        "edges": [0, 3, 8, 31],
                    },
                    {"name": "discharged", "type": "date", "sum": ["admitted", "stay"]},
                ],
                "rowConstraints": [
                    "ward != 'rehabilitation' or stay >= 3",
                    "previous.discharged <= admitted",
                    "patients.born <= 2000 or ward != 'rehabilitation'",
                ],
            },
        },
    ],
}


def hospital(**history: Any) -> dict[str, Any]:
    """The document with other settings of its history; None leaves one out."""
    document = copy.deepcopy(HOSPITAL)
    settings = document["resources"][1]["schema"]["history"]
    settings.update(history)
    for key in [key for key, value in settings.items() if value is None]:
        del settings[key]
    return document


def tables(persons: int, seed: int = 1) -> dict[str, pd.DataFrame]:
    """Patients of whom some have no admission and some more than count; wards stay the same in half of all cases."""
    generator = np.random.default_rng(seed)
    keys = [f"P{number}" for number in range(persons)]
    born = generator.integers(1920, 2021, persons)
    patients = pd.DataFrame({"patient": keys, "sex": generator.choice(["f", "m"], persons), "born": born.astype(str)})
    patients.loc[generator.random(persons) < 0.05, "born"] = "unknown"
    rows = []
    for person in range(persons):
        moment = np.datetime64("2015-01-01") + int(generator.integers(0, 1500))
        allowed = WARDS if born[person] <= 2000 else [ward for ward in WARDS if ward != "rehabilitation"]
        ward = generator.choice(allowed)
        for _ in range(generator.poisson(2)):
            ward = generator.choice(allowed) if generator.random() < 0.5 else ward
            stay = int(generator.integers(3 if ward == "rehabilitation" else 0, 15))
            if moment + stay > LAST:
                break
            rows.append((keys[person], str(moment), str(ward), bool(generator.random() < 0.3), str(moment + stay)))
            moment = moment + stay + int(generator.integers(1, 400))
    admissions = pd.DataFrame(rows, columns=["patient", "admitted", "ward", "urgent", "discharged"])
    admissions.insert(0, "admission", range(len(admissions)))
    return {"patients": patients, "admissions": admissions}
