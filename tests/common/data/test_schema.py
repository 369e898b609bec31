import copy
import hashlib
import json
from fractions import Fraction
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from privity.common.data.schema import load_schema, parse_schema
from privity.common.errors import ProblemsFound


def field(**keys):
    return {"name": "x", "type": "string", "categories": ["a", "b"]} | keys


def number(**keys):
    return {"name": "x", "type": "number"} | keys


def integer(**keys):
    return {"name": "x", "type": "integer"} | keys


def span(low, high):
    return {"minimum": low, "maximum": high}


BAD_FIELDS = [
    (field(colour="red"), "additionalProperties"),
    (field(name=""), "minLength"),
    (field(name="a\tb"), "control-character"),
    (field(categories=["a", "b\n"]), "control-character"),
    (field(type="text"), "enum"),
    ({"name": "x", "type": "string"}, "no-domain"),
    (integer(), "no-domain"),
    (field(categories=["a", "b", "a"]), "duplicate-category"),
    (integer(categories=[1, 1.0]), "duplicate-category"),
    (field(categories=["a", 1]), "category-type"),
    (integer(categories=[1, "2"]), "category-type"),
    (integer(categories=[1, 2.5]), "category-type"),
    (field(bins=3), "type-mismatch"),
    (field(constraints=span(0, 1)), "type-mismatch"),
    ({"name": "x", "type": "boolean", "categories": [0, 1]}, "type-mismatch"),
    (integer(bins=2, constraints=span(0, 9), edges=[0, 5, 9]), "two-domains"),
    (integer(bins=2, constraints=span(0, 9), categories=[0, 5]), "two-domains"),
    (integer(categories=[0, 5], constraints=span(0, 9)), "unused-bounds"),
    (integer(bins=2), "no-bounds"),
    (integer(bins=2, constraints={"minimum": 1}), "one-sided-bounds"),
    (integer(edges=[1, 2, 3], constraints={"maximum": 3}), "one-sided-bounds"),
    (integer(bins=2, constraints=span(9, 9)), "empty-range"),
    (integer(bins=2, constraints=span(0.5, 9)), "bound-type"),
    (integer(bins=0, constraints=span(0, 9)), "minimum"),
    (integer(bins=11, constraints=span(0, 9)), "empty-bin"),
    (integer(edges=[0, 0.2, 0.7, 3]), "empty-bin"),
    (integer(bins=2, constraints=span(0, 2**80)), "number-range"),
    (number(bins=2, constraints=span(0, 1e300)), "number-range"),
    (number(bins=2, constraints=span(0, float("inf"))), "number-range"),
    (number(edges=[0, 0.12345678901234567, 1]), "number-precision"),
    (number(edges=[1, 1.00000000000001, 1.00000000000002]), None),
    (number(bins=1000, constraints=span(1, 1.00000000000001)), "narrow-bin"),
    (integer(edges=[0, 5, 5, 9]), "edges-order"),
    (integer(edges=[0, 5, 4, 9]), "edges-order"),
    (integer(edges=[0, 5, 9], constraints=span(0, 10)), "edges-bounds"),
    (integer(edges=[0]), "minItems"),
    (integer(edges=[0, 5, 9], categoriesOrdered=True), "needs-categories"),
    (integer(edges=[0, 5, 9], taxonomy={"A": [0, 5]}), "needs-categories"),
    (field(taxonomy={"A": ["a"]}), "taxonomy-leaves"),
    (field(taxonomy={"A": ["a", "b"], "B": ["a"]}), "taxonomy-leaves"),
    (field(taxonomy={"A": ["a", "b"], "B": ["c"]}), "taxonomy-leaves"),
    (field(taxonomy={"A": ["a", "b"], "B": []}), "minItems"),
    (field(taxonomy={"A": ["a", "b"], "B": {}}), "minProperties"),
    (field(outOfDomain="edge"), "out-of-domain"),
    (field(outOfDomain="other"), "out-of-domain"),
    (field(outOfDomain="other", other="z"), "out-of-domain"),
    (field(other="a"), "out-of-domain"),
    (integer(edges=[0, 5, 9], outOfDomain="other", other=0), "out-of-domain"),
    (field(outOfDomain="drop"), "enum"),
    (field(missingValues=["", "a"]), "missing-in-domain"),
    (integer(categories=[1, 2], missingValues=["1.0"]), "missing-in-domain"),
    (integer(edges=[0, 50, 100], missingValues=["99"]), "missing-in-domain"),
    ({"name": "x", "type": "boolean", "missingValues": ["0"]}, "missing-in-domain"),
    (field(missingValues=[""] * 2), "uniqueItems"),
]


@pytest.mark.parametrize(("bad", "rule"), BAD_FIELDS)
def test_each_rule(bad, rule):
    if rule is None:
        parse_schema({"fields": [bad]}, "s.json")
        return
    with pytest.raises(ProblemsFound) as caught:
        parse_schema({"fields": [bad]}, "s.json")
    assert rule in {problem.rule for problem in caught.value.problems}
    for problem in caught.value.problems:
        assert problem.file == "s.json"
        assert problem.field.startswith("fields[0]")
        assert problem.message
        assert problem.remedy
        assert len(str(problem)) < 450


def test_all_faults_of_a_schema_at_once():
    fields = [
        bad | ({"name": f"x{place}"} if bad["name"] == "x" else {})
        for place, (bad, rule) in enumerate(BAD_FIELDS)
        if rule
    ]
    fields.append(field(name="x0"))
    with pytest.raises(ProblemsFound) as caught:
        parse_schema({"fields": fields, "author": "me", "missingValues": [3]}, "s.json")
    problems = caught.value.problems
    places = {problem.field.split("]")[0] for problem in problems if problem.field.startswith("fields")}
    assert len(places) == len(fields)
    rules = {problem.rule for problem in problems}
    assert {"additionalProperties", "type", "duplicate-name"} <= rules


@pytest.mark.parametrize(
    "document", [{}, {"fields": []}, {"fields": {}}, [], 3, None, {"name": "\udc00", "fields": [3]}]
)
def test_documents_that_are_no_schema(document):
    with pytest.raises(ProblemsFound):
        parse_schema(document, "s.json")


def test_attributes(people):
    assert people.names == ("age", "work", "gain", "weight", "member", "size", "grade")
    assert people.domain == (16, 4, 3, 4, 2, 3, 3)
    assert people.index("member") == 4
    assert [attribute.binary for attribute in people.attributes].count(True) == 1
    age, work, gain, weight, member, size, _ = people.attributes
    assert age.labels[:2] == ("[17, 22)", "[22, 27)")
    assert age.labels[-1] == "[86, 90]"
    assert gain.labels == ("0 and less", "[1, 500)", "500 and more")
    assert weight.labels == ("[0.1, 0.733333)", "[0.733333, 1.36667)", "[1.36667, 2]", "(missing)")
    assert weight.edges[1] == Fraction(11, 15)
    assert member.labels == ("false", "true")
    assert size.labels == ("0.5", "1", "2.25")
    assert work.levels == ((0, 0, 1, 1),)


def test_levels_go_from_fine_to_coarse_and_keep_missing_apart():
    taxonomy = {"A": {"A1": ["a", "b"], "A2": ["c"]}, "B": ["d", "e"]}
    item = field(categories=list("abcde"), taxonomy=taxonomy, missingValues=[""])
    attribute = parse_schema({"fields": [item]}, "s").attributes[0]
    assert attribute.levels == ((0, 0, 1, 2, 3, 4), (0, 0, 0, 1, 1, 2))


@given(st.integers(-1000, 1000), st.integers(1, 1000), st.integers(1, 60))
def test_integer_bins_partition_the_range_exactly(low, width, bins):
    item = integer(constraints=span(low, low + width), bins=bins, missingValues=[""])
    edges = [low + Fraction(width * place, bins) for place in range(bins + 1)]
    cells = [
        [v for v in range(low, low + width + 1) if a <= v < b or (b == edges[-1] == v)] for a, b in pairwise(edges)
    ]
    if not all(cells):
        with pytest.raises(ProblemsFound, match="hold no integer"):
            parse_schema({"fields": [item]}, "s")
        return
    attribute = parse_schema({"fields": [item]}, "s").attributes[0]
    for code, cell in enumerate(cells):
        assert {attribute.code_of(str(value)) for value in cell} == {code}
    assert attribute.code_of(str(low - 1)) is None
    assert attribute.code_of(str(low + width + 1)) is None
    assert len(set(attribute.labels)) == attribute.size


def test_number_edges_are_decided_exactly():
    attribute = parse_schema({"fields": [number(constraints=span(0, 0.3), bins=3)]}, "s").attributes[0]
    assert attribute.edges == tuple(Fraction(place, 10) for place in range(4))
    for text, code in [
        ("0.1", 1), ("0.0999999999999999999999", 0), ("0.2", 2), ("0.3", 2), ("3e-1", 2), ("+.1", 1), ("-0", 0),
        ("0.30000000000000001", None), ("-1e-300", None), ("nan", None), ("inf", None), ("", None),
        (" 0.1", None), ("0_1", None), ("1e9999", None), ("٣", None),
    ]:  # fmt: skip
        assert attribute.code_of(text) == code, text


def test_values_outside_the_domain():
    edge = parse_schema({"fields": [integer(edges=[0, 5, 9], outOfDomain="edge")]}, "s").attributes[0]
    found = [edge.code_of(text) for text in ("-7", "10", "9", "1e30", "7.0", "7e0", "7.5", "nan", "inf", "")]
    assert found == [0, 1, 1, 1, 1, 1, None, None, None, None]
    keys = {"outOfDomain": "other", "other": "b", "missingValues": ["?"]}
    other = parse_schema({"fields": [field(**keys)]}, "s").attributes[0]
    assert [other.code_of(text) for text in ("a", "b", "z", "", "nan", "?")] == [0, 1, 1, 2, 1, 2]


def test_missing_values_of_the_field_replace_those_of_the_top_and_none_apply_by_default():
    fields = [field(name="p"), field(name="q", missingValues=[]), field(name="r", missingValues=["-", "?"])]
    assert parse_schema({"fields": fields, "missingValues": ["", "NA"]}, "s").domain == (3, 2, 3)
    assert parse_schema({"fields": fields}, "s").domain == (2, 2, 3)


def test_schema_round_trip(people, schema_document):
    texts = {"title": "t", "license": "l", "source": "s", "description": "d", "$schema": "u", "format_version": 1}
    schema_document["fields"][0]["description"] = "years"
    schema = parse_schema(schema_document | texts, "s")
    written = json.loads(json.dumps(schema.table_schema()))
    assert parse_schema(written, "s") == schema
    assert written == json.loads(json.dumps(parse_schema(written, "s").table_schema()))
    assert schema.digest == people.digest


def test_digest_is_of_what_decides_the_codes(people, schema_document):
    known = {people.digest}
    same = copy.deepcopy(schema_document)
    same["fields"][0] |= {"title": "Age"}
    same["fields"][1]["outOfDomain"] = "refuse"
    same["fields"][3]["constraints"] = span(0.1, 2.0)
    assert parse_schema(same | {"name": "other"}, "s").digest in known
    changes = [
        (0, "bins", 15), (0, "name", "years"), (1, "categories", list("bacd")), (2, "outOfDomain", "refuse"),
        (1, "taxonomy", {"rest": {"c": ["c"], "d": ["d"]}, "ab": ["a", "b"]}), (3, "missingValues", ["NA", ""]),
        (5, "other", 0.5), (6, "categoriesOrdered", False), (3, "missingValues", [""]),
    ]  # fmt: skip
    for place, key, value in changes:
        changed = copy.deepcopy(schema_document)
        changed["fields"][place][key] = value
        digest = parse_schema(changed, "s").digest
        assert digest not in known
        known.add(digest)


def test_digest_is_the_hash_of_the_documented_text():
    fields = [
        integer(categories=[2**70, 1], missingValues=[""]),
        number(name="y", constraints=span(0, 1), bins=3, outOfDomain="edge"),
        field(name="z", taxonomy={"B": {"b": ["b"]}, "A": ["a"]}, outOfDomain="other", other="a"),
    ]
    text = (
        '{"attributes":['
        '{"categories":["1180591620717411303424","1"],"edges":[],"missing":[""],"name":"x","ordered":false,'
        '"other":null,"outOfDomain":"refuse","taxonomy":[],"type":"integer"},'
        '{"categories":[],"edges":["0","1/3","2/3","1"],"missing":[],"name":"y","ordered":false,'
        '"other":null,"outOfDomain":"edge","taxonomy":[],"type":"number"},'
        '{"categories":["a","b"],"edges":[],"missing":[],"name":"z","ordered":false,"other":"a",'
        '"outOfDomain":"other","taxonomy":[["B",[["b",[1]]]],["A",[0]]],"type":"string"}'
        '],"format_version":1}'
    )
    assert parse_schema({"fields": fields}, "s").digest == hashlib.sha256(text.encode()).hexdigest()


def test_equal_width_bins_and_equal_edges_have_one_digest():
    by_count = parse_schema({"fields": [integer(constraints=span(0, 9), bins=3)]}, "s")
    by_edges = parse_schema({"fields": [integer(edges=[0, 3, 6, 9])]}, "s")
    assert by_count.digest == by_edges.digest


def test_large_integers_survive():
    schema = parse_schema({"fields": [integer(categories=[2**53 + 1, 2**80, -5])]}, "s")
    written = json.loads(json.dumps(schema.table_schema()))
    assert parse_schema(written, "s").digest == schema.digest
    assert schema.attributes[0].code_of(str(2**80)) == 1
    assert schema.attributes[0].code_of(str(2**53)) is None


@pytest.mark.parametrize("name", ["adult", "adult_train", "nltcs", "diabetes130", "cps_taxunits"])
def test_shared_schemas(shared_data, name):
    schema = load_schema(shared_data / f"{name}.schema.json")
    assert parse_schema(json.loads(json.dumps(schema.table_schema())), "s") == schema
    assert all(len(set(attribute.labels)) == attribute.size for attribute in schema.attributes)


@pytest.mark.parametrize(
    ("declared", "code"),
    [
        (integer(edges=[-5, 0, 1, 9]), 1),
        (integer(edges=[0, 0.5, 9]), 0),
        (integer(edges=[-5, 0, 2, 9]), None),
        (integer(edges=[1, 5, 9]), None),
        (integer(categories=[2, 0, 1]), 1),
        (number(categories=[2.5, 0]), 1),
        (number(edges=[0, 1, 2]), None),
        (field(categories=["1", "0"]), None),
        ({"name": "x", "type": "boolean"}, None),
    ],
)
def test_zero_has_a_code_where_no_other_value_has_it(declared, code):
    (attribute,) = parse_schema({"fields": [declared]}, "s").attributes
    assert attribute.zero_code == code
