"""What was derived from rows carries its cost, from the fit to every schema that has it."""

from __future__ import annotations

import copy
import itertools
from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from privity.common.data.attribute import Attribute
from privity.common.data.joined_schemas import join_schemas
from privity.common.data.schema import Schema, parse_schema
from privity.common.errors import ProblemsFound
from privity.common.privacy.discovery import Discovery, joined, loss_of, read_discovery
from privity.common.privacy.neighbouring_relation import RELATION
from privity.common.privacy.privacy_loss import ApproxDP

CITY = {"name": "city", "type": "string", "domain": "discover"}
WARD = {"name": "ward", "type": "string", "categories": ["north", "south"]}
OPEN = parse_schema({"fields": [CITY, WARD]}, "s")
LOSS = ApproxDP(Fraction(2), Fraction(1, 10**7), RELATION)
FOUND = Discovery(("city",), "local-1", "patients", LOSS)
BERN = Attribute("city", "string", ("Bern", "(other)"), out_of_domain="other", other="(other)")

losses = st.builds(
    lambda epsilon, delta: ApproxDP(epsilon, delta, RELATION),
    st.fractions(Fraction(1, 1000), 5),
    st.fractions(0, Fraction(1, 100)),
)
discoveries = st.builds(
    Discovery,
    st.lists(st.sampled_from("abc"), min_size=1, unique=True).map(tuple),
    st.sampled_from(["r1", "r2"]),
    st.sampled_from(["here", "there"]),
    losses,
    st.none() | st.just("0" * 64),
)


def found() -> Schema:
    return OPEN.discovered([BERN], FOUND)


def test_nothing_is_derived_without_a_cost_or_of_nothing() -> None:
    for attributes, epsilon in [(("city",), 0), ((), 1)]:
        with pytest.raises(ValueError, match="costs something"):
            Discovery(attributes, "r", "p", ApproxDP(Fraction(epsilon), Fraction(0), RELATION))


@pytest.mark.parametrize(
    ("attributes", "by"),
    [
        ([], FOUND),
        ([OPEN.attributes[0]], FOUND),
        ([BERN], Discovery(("ward",), "r", "p", LOSS)),
        ([OPEN.attributes[1]], Discovery(("ward",), "r", "p", LOSS)),
        ([BERN, Attribute("x", "boolean", (False, True))], FOUND),
    ],
)
def test_a_discovery_closes_the_open_domains_that_it_is_of_and_no_others(
    attributes: list[Attribute], by: Discovery
) -> None:
    with pytest.raises(ValueError, match="no others"):
        OPEN.discovered(attributes, by)


def test_the_cost_goes_with_the_schema_through_files_parts_and_joins() -> None:
    schema = found()
    again = parse_schema(schema.table_schema(), "s")
    assert again == schema
    assert again.stated["discoveries"] == [FOUND.document()]
    assert schema.over(["city"]).discoveries == schema.released.discoveries == (FOUND,)
    assert schema.over(["ward"]).discoveries == (), "nothing of what was discovered is left"
    other = OPEN.discovered([BERN], Discovery(("city",), "local-2", "customers", LOSS))
    both = join_schemas({"a": schema, "b": other, "c": schema})
    assert loss_of(both.discoveries) == ApproxDP(Fraction(4), Fraction(2, 10**7), RELATION)
    signed = schema.signed("local-1", "ab" * 32)
    assert parse_schema(signed.table_schema(), "s").discoveries[0].release == "ab" * 32


def test_a_stripped_or_lowered_cost_is_another_schema() -> None:
    schema = found()
    document = schema.table_schema()
    stripped = {key: value for key, value in document.items() if key != "discoveries"}
    lower = copy.deepcopy(document)
    lower["discoveries"][0]["epsilon"] = "1/10"
    digests = {parse_schema(one, "s").digest for one in (document, stripped, lower)}
    assert len(digests) == 3, "what a manifest names is the schema with its cost"


@pytest.mark.parametrize(
    ("change", "rule"),
    [
        ({"attributes": ["town"]}, "unknown-attribute"),
        ({"epsilon": "0"}, "no-loss"),
        ({"epsilon": "1/0"}, "pattern"),
        ({"delta": "3/2"}, "no-loss"),
        ({"epsilon": "-1"}, "pattern"),
        ({"release": "x"}, "pattern"),
        ({"cost": "1"}, "additionalProperties"),
    ],
)
def test_an_entry_that_cannot_be_is_named(change: dict[str, object], rule: str) -> None:
    document = found().table_schema()
    document["discoveries"][0] |= change
    with pytest.raises(ProblemsFound) as refused:
        parse_schema(document, "s")
    assert rule in {problem.rule for problem in refused.value.problems}


@given(st.lists(discoveries, max_size=6))
def test_the_same_discovery_counts_once_and_different_ones_add_up(some: list[Discovery]) -> None:
    once = joined(some)
    assert {one.what for one in once} == {one.what for one in some}
    assert len({one.what for one in once}) == len(once)
    expected = {one.what: one.loss for one in some}.values()
    assert loss_of(once).epsilon == sum((loss.epsilon for loss in expected), Fraction(0))
    assert loss_of(once).delta == min(1, sum((loss.delta for loss in expected), Fraction(0)))
    for one, name in itertools.product(some, "abc"):
        kept = next(each for each in once if each.what == one.what)
        assert name not in one.attributes or name in kept.attributes
    assert [read_discovery(one.document()) for one in some] == some
