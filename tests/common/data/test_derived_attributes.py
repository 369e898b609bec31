"""Derived attributes: bits, Gray bits and generalisations are public functions of a code, and undone."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from privity.common.data.coded_table import CodedTable
from privity.common.data.contingency_tables import contingency_table
from privity.common.data.derived_attributes import DerivedAttributes
from privity.common.data.noisy_tables import AttributeParentPair
from privity.common.data.schema import parse_schema
from privity.common.synthesis.models.bayesian_network import BayesianNetwork, Node

SIZES = st.lists(st.integers(2, 70), min_size=1, max_size=5)


def schema_of(sizes, names=None):
    names = names or [f"x{a}" for a in range(len(sizes))]
    fields = [
        {"name": name, "type": "integer", "edges": list(range(size + 1))}
        for name, size in zip(names, sizes, strict=True)
    ]
    return parse_schema({"fields": fields}, "small")


@given(SIZES)
def test_bits_spell_every_code_and_are_read_back(sizes):
    derived = schema_of(sizes).derived
    for attribute, size in enumerate(sizes):
        codes = np.arange(size)
        for bits in (derived.bits(attribute), derived.gray(attribute)):
            assert {derived.domain[bit] for bit in bits} == {2} or bits == (attribute,)
            assert {derived.base[bit] for bit in bits} == {attribute}
            assert len(bits) == max(1, (size - 1).bit_length())
            columns = {bit: derived.derive(bit, codes) for bit in bits}
            assert derived.restore(attribute, columns).tolist() == codes.tolist()


@given(st.integers(3, 70))
def test_neighbours_differ_in_one_gray_bit(size):
    derived = schema_of([size]).derived
    spelled = np.array([derived.derive(bit, np.arange(size)) for bit in derived.gray(0)])
    assert (np.abs(np.diff(spelled, axis=1)).sum(axis=0) == 1).all()


@given(st.integers(3, 70), st.sampled_from(["bits", "gray"]))
def test_bits_that_spell_no_code_give_one_all_the_same(size, spelling):
    derived = schema_of([size]).derived
    bits = getattr(derived, spelling)(0)
    every = np.indices((2,) * len(bits)).reshape(len(bits), -1)
    restored = derived.restore(0, dict(zip(bits, every, strict=True)))
    assert set(restored.tolist()) == set(range(size))


def test_bins_are_joined_in_pairs_and_missing_values_stay_apart():
    field = {"name": "x", "type": "integer", "edges": list(range(8)), "missingValues": ["NA"]}
    derived = parse_schema({"fields": [field]}, "small").derived
    _, first, second = derived.levels(0)
    assert derived.derive(first, np.arange(8)).tolist() == [0, 0, 1, 1, 2, 2, 3, 4]
    assert derived.derive(second, np.arange(8)).tolist() == [0, 0, 0, 0, 1, 1, 1, 2]


def test_what_is_no_value_is_told_apart_from_values_and_from_each_other():
    field = {"name": "age", "type": "string", "categories": ["young", "old"], "missingValues": [""]}
    schema = parse_schema({"absentRows": True, "fields": [field, {**field, "name": "sex", "missingValues": []}]}, "s")
    derived, present = schema.derived, schema.derived.presence(0)
    assert schema.attributes[0].labels[:2] == ("young", "old")
    assert derived.derive(present, np.arange(schema.domain[0])).tolist() == [0, 0, 1, 2]
    assert derived.domain[present] == 3
    assert derived.presence(1) == 1


def test_a_taxonomy_gives_the_levels(people):
    work = people.index("work")
    _, level = people.derived.levels(work)
    assert people.derived.derive(level, np.arange(4)).tolist() == [0, 0, 1, 1]
    assert people.derived.levels(people.index("member")) == (people.index("member"),)


def test_what_is_derived_has_no_generalisations():
    derived = schema_of([8]).derived
    assert [derived.levels(bit) for bit in derived.bits(0)] == [(bit,) for bit in derived.bits(0)]
    assert derived.levels(derived.levels(0)[1]) == (derived.levels(0)[1],)


def test_names_are_distinct_even_beside_odd_attributes():
    derived = schema_of([4, 4], ["a", "a:bit0"]).derived
    assert len(set(derived.names)) == len(derived.names)
    assert all(derived.index(name) == place for place, name in enumerate(derived.names))
    assert derived.names[:2] == ("a", "a:bit0")


def test_a_table_counts_derived_attributes_like_any_other(make_table):
    table = make_table([5, 3], 500)
    derived = table.schema.derived
    high = derived.bits(0)[0]
    counts = contingency_table(table, [high, 1])
    full = contingency_table(table, [0, 1])
    assert counts.tolist() == [full[:4].sum(axis=0).tolist(), full[4].tolist()]


def test_a_network_over_bits_samples_codes(make_table):
    """Deterministic weights: the first bit follows the other attribute, the second is always 1."""
    schema = make_table([4, 2], 1).schema
    high, low = schema.derived.bits(0)
    nodes = [
        Node(AttributeParentPair(1, ()), np.array([1.0, 1.0])),
        Node(AttributeParentPair(high, (1,)), np.eye(2)),
        Node(AttributeParentPair(low, (high,)), np.array([[0.0, 0.0], [1.0, 1.0]])),
    ]
    network = BayesianNetwork(schema, nodes)
    table = network.sample(1000, np.random.default_rng(1))
    assert table.columns[0].tolist() == (2 * table.columns[1].astype(int) + 1).tolist()
    again = BayesianNetwork.from_dict(network.to_dict(), schema, "model.json")
    assert again.parents == network.parents


def test_a_parent_may_be_a_generalisation_of_what_was_drawn():
    schema = schema_of([4, 2])
    _, half = schema.derived.levels(0)
    nodes = [
        Node(AttributeParentPair(0, ()), np.ones(4)),
        Node(AttributeParentPair(1, (half,)), np.eye(2)),
    ]
    table = BayesianNetwork(schema, nodes).sample(200, np.random.default_rng(1))
    assert table.columns[1].tolist() == (table.columns[0] // 2).tolist()


@pytest.mark.parametrize("drawn", [("bits",), ("bits", "itself"), ("one bit", "itself"), ("bits", "gray", "other")])
def test_an_attribute_is_drawn_exactly_once(drawn):
    schema = schema_of([4, 2])
    derived = schema.derived
    choices = {"bits": derived.bits(0), "gray": derived.gray(0), "itself": (0,), "one bit": derived.bits(0)[:1]}
    nodes = [*(n for some in drawn if some != "other" for n in choices[some]), *([1] if "other" in drawn else [])]
    with pytest.raises(ValueError, match="exactly once"):
        BayesianNetwork(
            schema, [Node(AttributeParentPair(n, ()), np.ones(derived.domain[n])) for n in dict.fromkeys(nodes)]
        )


def test_many_attributes_are_derived_in_reasonable_memory():
    derived = DerivedAttributes(schema_of([2] * 3000).attributes)
    assert len(derived.names) == 3000


def test_columns_of_derived_attributes_are_of_the_smallest_type(make_table):
    table = make_table([300], 10)
    assert table.columns[0].dtype == np.uint16
    assert table.column(table.schema.derived.bits(0)[0]).dtype == np.uint8
    assert isinstance(table, CodedTable)
