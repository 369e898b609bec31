"""Settings of an algorithm: read exactly, and every fault at once."""

from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from privity.common.data.schema import parse_schema
from privity.common.errors import ProblemsFound
from privity.common.synthesis.algorithm_settings import declared
from privity.common.synthesis.algorithms import ALGORITHMS
from privity.common.synthesis.algorithms.dp_subn import Settings
from tests.harness.steps import pure

READ = ALGORITHMS["dp-subn"].read
SCHEMA = parse_schema({"fields": [{"name": name, "type": "boolean"} for name in ("age", "work", "member")]}, "small")


def faults(settings):
    with pytest.raises(ProblemsFound) as caught:
        READ(settings, SCHEMA)
    return sorted((p.field, p.rule) for p in caught.value.problems)


def test_without_settings_the_defaults_hold():
    assert READ({}, SCHEMA) == Settings()
    assert READ(dict.fromkeys(["theta", "largest_degree", "first_attribute"]), SCHEMA) == Settings()


def test_settings_are_read_exactly():
    read = READ({"theta": "1/3", "update": "0.25", "largest_degree": 2, "first_attribute": "work"}, SCHEMA)
    assert (read.theta, read.update) == (Fraction(1, 3), Fraction(1, 4))
    assert (read.largest_degree, read.first_attribute) == (2, "work")
    assert read.parameters == Settings().parameters
    for quarter in (0.25, "2.5e-1", Fraction(1, 4)):
        assert READ({"update": quarter}, SCHEMA).update == Fraction(1, 4)


def test_every_fault_is_reported_at_once():
    settings = {"theta": 2000, "update": "-1", "largest_degree": 9, "first_attribute": "height", "colour": "red"}
    assert faults(settings) == [
        ("colour", "unknown"),
        ("first_attribute", "choice"),
        ("largest_degree", "range"),
        ("theta", "weight"),
        ("update", "weight"),
    ]


@pytest.mark.parametrize(
    "value",
    ["0", "-1/4", "1/0", "abc", "", "nan", "1e4", "1e999999999", "1001", ".5", 0.0, -1, True, [], "0." + "3" * 9999],
)
def test_a_weight_is_a_positive_number(value):
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
        parts = [part.epsilon for part in READ(settings, SCHEMA).split(pure(epsilon))]
        assert sum(parts) == epsilon
        assert min(parts) > 0


def test_weights_divide_epsilon_in_proportion():
    parts = Settings(Fraction(1), Fraction(2), Fraction(3), Fraction(4)).split(pure(Fraction(1, 2)))
    assert tuple(part.epsilon for part in parts) == (Fraction(1, 20), Fraction(2, 20), Fraction(3, 20), Fraction(4, 20))


PLAIN = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(-2, 500),
    st.text(max_size=4),
    st.sampled_from(
        ["0", "1/2", "0.1", "1", "2", "999", "1001", "age", "pgm", "joint", "useful", "always", "binary", "uniform"]
    ),
    st.just({}),
)


@st.composite
def documents(draw):
    algorithm = ALGORITHMS[draw(st.sampled_from(sorted(ALGORITHMS)))]
    names = st.sampled_from([*declared(algorithm.settings), "colour", "epsilon"])
    return algorithm, draw(st.dictionaries(names, PLAIN, max_size=6))


def faults_of(algorithm, document):
    try:
        algorithm.read(document, SCHEMA)
    except ProblemsFound as found:
        return {(problem.field, problem.rule, problem.message) for problem in found.problems}
    return set()


@given(documents())
def test_a_document_is_read_or_all_its_faults_are_listed(asked):
    algorithm, document = asked
    alone = [faults_of(algorithm, {key: value}) for key, value in document.items()]
    assert faults_of(algorithm, document) == set().union(*alone)
    if not any(alone):
        read, defaults = algorithm.read(document, SCHEMA), algorithm.read({}, SCHEMA)
        told = {key for key, value in document.items() if value is not None}
        follows = {"frontier", "inference"}
        for name in set(declared(algorithm.settings)) - told - follows:
            assert getattr(read, name) == getattr(defaults, name)
        for name in told:
            value = getattr(read, name)
            assert value == (Fraction(document[name]) if isinstance(value, Fraction) else document[name])


@pytest.mark.parametrize(
    ("algorithm", "document", "expected"),
    [
        ("dp-subn", {"schedule": "uniform"}, ("frontier", "always")),
        ("dp-subn", {"schedule": "uniform", "frontier": "useful"}, ("frontier", "useful")),
        ("dp-subn", {"attributes": "binary"}, ("inference", "tables")),
        ("privbayes", {"encoding": "gray"}, ("inference", "tables")),
        ("privbayes", {"encoding": "gray", "inference": "pgm"}, ("inference", "pgm")),
    ],
)
def test_a_default_may_follow_from_another_setting(algorithm, document, expected):
    name, value = expected
    assert getattr(ALGORITHMS[algorithm].read(document, SCHEMA), name) == value


@pytest.mark.parametrize("algorithm", sorted(ALGORITHMS))
def test_every_setting_has_a_meaning_of_one_short_line(algorithm):
    for name, setting in declared(ALGORITHMS[algorithm].settings).items():
        assert 0 < len(setting.meaning) <= 100, name
        assert "\n" not in setting.told
        assert setting.meaning[-1] != "."
