"""A schema of persons and their events: read, written, and refused with every fault at once."""

import copy

import pytest

from privity.common.data.schema import parse_schema
from privity.common.errors import ProblemsFound
from tests.harness.histories import HOSPITAL, hospital

FILE = "hospital.json"


def events_of(document):
    return document["resources"][1]["schema"]


def test_a_step_has_the_person_one_event_and_what_was_before():
    schema = parse_schema(HOSPITAL, FILE)
    assert schema.names == (
        "patients.sex",
        "patients.born",
        "number",
        "first.admitted",
        "position",
        "previous.ward",
        "previous.urgent",
        "previous.stay",
        "so far.stay",
        "admissions.ward",
        "admissions.urgent",
        "admissions.stay",
        "gap",
    )
    assert dict(zip(schema.names, schema.domain, strict=True)) | {
        "number": 7,
        "position": 7,
        "first.admitted": 3,
        "admissions.ward": 6,
        "previous.ward": 6,
        "gap": 5,
    } == dict(zip(schema.names, schema.domain, strict=True))
    assert not schema.absent_rows


def test_written_and_read_again_it_is_the_same():
    schema = parse_schema(HOSPITAL, FILE)
    again = parse_schema(schema.table_schema(), FILE)
    assert (again, again.digest) == (schema, schema.digest)
    assert schema.released.digest == schema.digest


@pytest.mark.parametrize(
    "history",
    [{"most": 5}, {"before": ["previous"]}, {"gap": {"edges": ["P0D", "P8D", "P400D"]}}, {"until": "2024-12-30"}],
)
def test_the_digest_is_of_all_that_decides_a_row(history):
    assert parse_schema(hospital(**history), FILE).digest != parse_schema(HOSPITAL, FILE).digest


def faults(document):
    with pytest.raises(ProblemsFound) as found:
        parse_schema(document, FILE)
    return [(problem.field, problem.message) for problem in found.value.problems]


@pytest.mark.parametrize(
    ("history", "field"),
    [
        ({"order": "ward"}, "history.order"),
        ({"order": "nothing"}, "history.order"),
        ({"gap": None}, "history.gap"),
        ({"gap": {"edges": ["P1DT1H", "P8D"]}}, "history.gap.edges"),
        ({"gap": {"edges": ["P8D", "P1D"]}}, "history.gap.edges"),
        ({"until": "2030-01-01"}, "history.until"),
        ({"until": 7}, "history.until"),
    ],
)
def test_what_cannot_be_an_order_is_named(history, field):
    assert [where for where, _ in faults(hospital(**history))] == [f"resources[1].schema.{field}"]


def test_a_position_is_an_order():
    document = hospital(order="visit", gap=None, until=None)
    events_of(document)["fields"].append({"name": "visit", "type": "integer", "generate": "number"})
    del events_of(document)["rowConstraints"]
    schema = parse_schema(document, FILE)
    assert schema.history.gap is None
    assert "gap" not in schema.names
    assert "admissions.admitted" in schema.names
    document["resources"][1]["schema"]["history"]["until"] = 3
    assert faults(document)[0][0] == "resources[1].schema.history.until"


def changed(path, value):
    document = copy.deepcopy(HOSPITAL)
    *steps, last = path
    place = document
    for step in steps:
        place = place[step]
    if value is None:
        del place[last]
    else:
        place[last] = value
    return document


@pytest.mark.parametrize(
    ("document", "said"),
    [
        (changed(("resources", 0, "schema", "primaryKey"), None), "no 'primaryKey'"),
        (changed(("resources", 0, "schema", "primaryKey"), "sex"), "does not refer"),
        (
            changed(("resources", 0, "schema", "fields", 0), {"name": "patient", "type": "integer", "categories": [1]}),
            "anew",
        ),
        (changed(("resources", 1, "schema", "foreignKeys", 0, "fields"), "ward2"), "no field is called"),
        (changed(("resources", 1, "schema", "foreignKeys", 0, "reference", "fields"), "sex"), "does not refer"),
        (changed(("resources", 1, "schema", "history"), None), "0 of the two resources"),
        (changed(("resources", 1, "name"), "patients"), "one name"),
        (changed(("resources", 1, "name"), "previous"), "meaning in rules"),
        (changed(("resources", 0, "schema", "absentRows"), True), "absent rows"),
        (changed(("resources", 0, "schema", "fields", 1), {"name": "patient", "type": "boolean"}), "the name"),
        (changed(("resources", 1, "schema", "rowConstraints"), ["patients.ward == 'other'"]), "neither an attribute"),
        (changed(("resources", 1, "schema", "fields", 3, "categories"), []), "entries"),
        (changed(("resources", 1, "schema", "fields"), None), "'fields' is missing"),
        (changed(("resources", 0, "schema", "fields"), 3), "expected array"),
        (changed(("resources", 1, "schema", "fields", 3, "name"), ["ward"]), "expected string"),
        (changed(("resources", 1, "schema", "fields", 3, "name"), "previous.ward"), "means the event before"),
        (changed(("resources", 1, "schema", "rowConstraints"), [None]), "expected string"),
    ],
)
def test_tables_that_do_not_belong_together_are_named(document, said):
    found = faults(document)
    assert any(said in message for _, message in found), found
    assert all(field.startswith("resources") or not field for field, _ in found)


def test_all_faults_are_told_at_once():
    document = hospital(order="ward")
    events_of(document)["rowConstraints"] = ["stay >> 3"]
    document["resources"][0]["schema"]["absentRows"] = True
    assert len(faults(document)) == 3


def test_an_end_with_decimals_is_read_from_python():
    document = hospital(order="day", until=99.9, gap={"edges": [0, 1, 50]})
    day = {"name": "day", "type": "number", "decimals": 1, "edges": [0, 50, 100]}
    events_of(document)["fields"].append(day)
    events_of(document)["rowConstraints"] = ["missing(previous.ward) or previous.ward != 'other' or ward != 'other'"]
    schema = parse_schema(document, FILE)
    assert schema.history.until == 999
    assert parse_schema(schema.table_schema(), FILE) == schema
