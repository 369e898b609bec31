"""Fixtures shared by the unit tests: a small descriptor of every kind of attribute, and the data sets."""

from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np
import pytest

from privity.common.data.coded_table import CodedTable
from privity.common.data.schema import Schema, parse_schema

SHARED_DATA = Path(__file__).parents[2].parent / "shared" / "data"


@pytest.fixture
def shared_data() -> Path:
    """The folder of the data sets for development, which lies outside the repository."""
    if not SHARED_DATA.is_dir():
        pytest.skip("the folder shared/data is not beside the repository")
    return SHARED_DATA


@pytest.fixture
def descriptor() -> dict:
    """A descriptor with an attribute of every kind."""
    return {
        "name": "people",
        "fields": [
            {"name": "age", "type": "integer", "constraints": {"minimum": 17, "maximum": 90}, "bins": 16},
            {
                "name": "work",
                "type": "string",
                "categories": ["a", "b", "c", "d"],
                "taxonomy": {"ab": ["a", "b"], "rest": {"c": ["c"], "d": ["d"]}},
            },
            {"name": "gain", "type": "integer", "edges": [0, 1, 500, 10000], "outOfDomain": "edge"},
            {
                "name": "weight",
                "type": "number",
                "constraints": {"minimum": 0.1, "maximum": 2},
                "bins": 3,
                "missingValues": ["", "NA"],
            },
            {"name": "member", "type": "boolean"},
            {"name": "size", "type": "number", "categories": [0.5, 1, 2.25], "outOfDomain": "other", "other": 1},
            {"name": "grade", "type": "integer", "categories": [3, 1, 2], "categoriesOrdered": True},
        ],
    }


@pytest.fixture
def people(descriptor: dict) -> Schema:
    return parse_schema(descriptor, "people.json")


@pytest.fixture(scope="session")
def make_table() -> Callable[..., CodedTable]:
    """A function (domain, rows, seed) that gives a table of uniform codes over the domain."""

    def make(domain: Sequence[int], rows: int, seed: int = 0) -> CodedTable:
        fields = [
            {"name": f"x{place}", "type": "integer", "edges": list(range(size + 1))}
            for place, size in enumerate(domain)
        ]
        generator = np.random.default_rng(seed)
        columns = tuple(generator.integers(0, size, rows) for size in domain)
        return CodedTable(parse_schema({"fields": fields}, "random"), columns)

    return make
