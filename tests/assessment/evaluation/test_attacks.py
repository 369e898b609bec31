"""The attacks of ``privity evaluate``: a table that copies its rows is caught, a model's sample is not."""

import numpy as np
import pytest

from privity.assessment.evaluation.attacks import MOST_SECRETS, Attack, run_attacks, secrets
from privity.common.data.coded_table import CodedTable
from privity.common.data.schema import parse_schema

pytestmark = pytest.mark.statistical

pytest.importorskip("anonymeter")
ATTACKS = 120
FIELDS = [
    {"name": "import", "type": "integer", "edges": list(range(41))},
    {"name": "a - b", "type": "integer", "edges": list(range(41))},
    {"name": "c", "type": "string", "categories": ["it's", 'a "word"', "x", "y", "z"]},
    {"name": "d", "type": "number", "edges": [0, 1, 2, 3, 4, 5], "missingValues": [""]},
    {"name": "e", "type": "boolean"},
    {"name": "f", "type": "integer", "categories": [10, 20, 30, 40]},
]


def drawn(rows, seed):
    """Rows of one population: the second attribute follows the first one."""
    schema = parse_schema({"fields": FIELDS}, "s")
    generator = np.random.default_rng(seed)
    first = generator.binomial(39, 0.4, rows)
    second = np.clip(first + generator.integers(-3, 4, rows), 0, 39)
    return CodedTable(schema, (first, second, *(generator.integers(0, n, rows) for n in (5, 6, 2, 4))))


def by_kind(attacks):
    return {(one.kind, one.secret): one for one in attacks}


@pytest.fixture(scope="module")
def of_a_copy():
    real = drawn(700, 1)
    return by_kind(run_attacks(real, real, drawn(500, 2), ATTACKS))


@pytest.fixture(scope="module")
def of_a_sample():
    """Rows of the same population as the real ones, and no nearer to them: what a good model draws."""
    return by_kind(run_attacks(drawn(700, 1), drawn(700, 3), drawn(500, 2), ATTACKS))


@pytest.mark.long
def test_a_copy_of_the_real_rows_is_caught_by_every_kind_of_attack(of_a_copy):
    caught = {kind for (kind, _), one in of_a_copy.items() if one.low}
    assert caught >= {"singling out, multivariate", "linkability", "inference"}
    singled = of_a_copy["singling out, multivariate", None]
    assert singled.success == pytest.approx(5 / 7, abs=0.12), "500 of 700 rows are attacked, as many as control rows"
    assert singled.low > 0.3
    for name in ("import", "a - b", "c", "d"):
        attack = of_a_copy["inference", name]
        assert attack.success > 0.8
        assert attack.low > 0.3
        assert attack.control < 0.5


def test_a_sample_of_the_population_is_not(of_a_sample):
    # Nine intervals of 95 %, of which about one in forty lies above 0 by chance; a copy has .3 and more.
    assert max(one.low for one in of_a_sample.values() if one.low is not None) < 0.1
    assert max(one.risk for one in of_a_sample.values() if one.risk is not None) < 0.35


def test_guessing_succeeds_as_often_as_the_frequent_values_allow(of_a_sample):
    for place, name in ((4, "e"), (2, "c")):
        shares = [np.bincount(drawn(700, seed).columns[place], minlength=6) / 700 for seed in (1, 3)]
        assert of_a_sample["inference", name].guess == pytest.approx(shares[0] @ shares[1])
    assert of_a_sample["linkability", None].guess == pytest.approx(1 - (1 - 10 / 700) ** 10, rel=0.02)


def test_the_same_tables_give_the_same_attacks_and_leave_the_generator_alone(of_a_sample):
    np.random.seed(4)
    expected = np.random.random()
    np.random.seed(4)
    again = by_kind(run_attacks(drawn(700, 1), drawn(700, 3), drawn(500, 2), ATTACKS))
    assert again == of_a_sample
    assert np.random.random() == expected


@pytest.mark.long
def test_nothing_to_single_out_is_said():
    schema = parse_schema({"fields": FIELDS[4:]}, "s")
    same = CodedTable(schema, (np.arange(80) % 2, np.zeros(80, int)))
    found = by_kind(run_attacks(same.take(np.tile(np.arange(80), 2)), same.take(np.tile(np.arange(80), 3)), same, 20))
    assert found["inference", "f"].risk is None, "everybody has one value: control rows never resist"
    assert set(found) >= {("singling out, univariate", None), ("linkability", None)}
    nothing = Attack("linkability", None, 0)
    assert (nothing.success, nothing.risk) == (None, None)


def test_many_attributes_are_not_all_secrets():
    names = [f"x{place}" for place in range(63)]
    assert len(set(secrets(names))) == MOST_SECRETS
    assert secrets(names[:5]) == names[:5]
