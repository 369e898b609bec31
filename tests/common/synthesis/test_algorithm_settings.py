"""Settings of an algorithm: read exactly, and every fault at once."""

from fractions import Fraction

import pytest

from privity.common.data.schema import parse_schema
from privity.common.errors import ProblemsFound
from privity.common.synthesis.algorithms import ALGORITHMS
from privity.common.synthesis.algorithms.dp_subn import Settings

SCHEMA = parse_schema({"fields": [{"name": name, "type": "boolean"} for name in ("age", "work", "member")]}, "small")


def faults(settings):
    with pytest.raises(ProblemsFound) as caught:
        ALGORITHMS["dp-subn"].read(settings, SCHEMA)
    return sorted((p.field, p.rule) for p in caught.value.problems)


def test_without_settings_the_defaults_hold():
    assert ALGORITHMS["dp-subn"].read({}, SCHEMA) == Settings()
    assert (
        ALGORITHMS["dp-subn"].read(dict.fromkeys(["theta", "largest_degree", "first_attribute"]), SCHEMA) == Settings()
    )


def test_settings_are_read_exactly():
    read = ALGORITHMS["dp-subn"].read(
        {"theta": "1/3", "update": "0.25", "largest_degree": 2, "first_attribute": "work"}, SCHEMA
    )
    assert (read.theta, read.update) == (Fraction(1, 3), Fraction(1, 4))
    assert (read.largest_degree, read.first_attribute) == (2, "work")
    assert read.parameters == Settings().parameters


def test_every_fault_is_reported_at_once():
    settings = {"theta": 6, "update": "-1", "largest_degree": 9, "first_attribute": "height", "colour": "red"}
    assert faults(settings) == [
        ("colour", "unknown"),
        ("first_attribute", "choice"),
        ("largest_degree", "range"),
        ("theta", "weight"),
        ("update", "weight"),
    ]


@pytest.mark.parametrize(
    "value",
    ["0", "-1/4", "1/0", "abc", "", "nan", "1e-3", "1e999999999", "1001", ".5", 0.25, 1, True, [], "0." + "3" * 9999],
)
def test_a_weight_is_a_positive_number_as_text(value):
    assert faults({"theta": value}) == [("theta", "weight")]


@pytest.mark.parametrize("value", [0, 6, -1, 2.0, "2", True, [2]])
def test_a_whole_number_lies_in_its_range(value):
    assert faults({"largest_degree": value}) == [("largest_degree", "range")]


@pytest.mark.parametrize("value", ["", "AGE", 0, ["age"]])
def test_a_choice_is_one_of_those_allowed(value):
    assert faults({"first_attribute": value}) == [("first_attribute", "choice")]


def test_a_message_names_the_algorithm_the_setting_and_what_is_known():
    with pytest.raises(ProblemsFound, match=r"settings of one-way: theta: \[unknown\].*Known: none"):
        ALGORITHMS["one-way"].read({"theta": "6"}, SCHEMA)


@pytest.mark.parametrize("epsilon", [Fraction(1), Fraction(1, 3), Fraction(7, 1000)])
def test_the_four_phases_share_epsilon_exactly(epsilon):
    for settings in ({}, {"update": "1/7", "theta": "3", "parameters": "0.3"}):
        parts = ALGORITHMS["dp-subn"].read(settings, SCHEMA).split(epsilon)
        assert sum(parts) == epsilon
        assert min(parts) > 0


def test_weights_divide_epsilon_in_proportion():
    parts = Settings(Fraction(1), Fraction(2), Fraction(3), Fraction(4)).split(Fraction(1, 2))
    assert parts == (Fraction(1, 20), Fraction(2, 20), Fraction(3, 20), Fraction(4, 20))
