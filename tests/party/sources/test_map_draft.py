"""Drafts of maps: what stands for what, by names and codes; marked, and refused until the owner has looked."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from privity.common.data.schema import parse_schema
from privity.common.data.table_map_file import parse_table_map
from privity.common.errors import ProblemsFound
from privity.party.sources.address import parse_address
from privity.party.sources.map_draft import draft_map, drafted, words_of
from privity.party.sources.open_rows import load_table
from tests.harness.stores import put

SCHEMA = parse_schema(
    {
        "fields": [
            {"name": "sex", "type": "string", "categories": ["female", "male"], "missingValues": [""]},
            {"name": "admission_type", "type": "string", "categories": ["emergency", "elective"]},
            {"name": "age", "type": "integer", "bins": 2, "constraints": {"minimum": 0, "maximum": 100}},
            {"name": "admission_date", "type": "date", "bins": 2,
             "constraints": {"minimum": "2024-01-01", "maximum": "2024-12-31"}},
            {"name": "smoker", "type": "boolean"},
        ]
    },
    "s",
)  # fmt: skip
ROWS = [
    {"Case": 1, "PatientSex": "F", "ADMISSION TYPE": "Emergency", "Age": 7, "AdmissionDate": "31.12.2024",
     "smoker": "yes"},
    {"Case": 2, "PatientSex": "M", "ADMISSION TYPE": "Elective", "Age": 70, "AdmissionDate": "01.01.2024",
     "smoker": "no"},
    {"Case": 3, "PatientSex": "unknown", "ADMISSION TYPE": "Elective", "Age": 70, "AdmissionDate": "01.02.2024",
     "smoker": "no"},
]  # fmt: skip


@pytest.mark.parametrize("form", ["csv", "duckdb"])
def test_a_draft_is_marked_and_reads_the_rows_once_it_is_looked_at(form: str, tmp_path: Path) -> None:
    address = parse_address(put(form, tmp_path / form, ROWS))
    found = draft_map(address, SCHEMA)
    fields = {field["name"]: field for field in found.document["fields"]}
    assert fields["sex"]["column"] == "PatientSex"
    assert fields["sex"]["codes"] == {"F": "female", "M": "male"}
    assert fields["sex"]["missingValues"] == ["unknown"]
    assert fields["admission_type"]["codes"] == {"Emergency": "emergency", "Elective": "elective"}
    assert fields["age"] == {"name": "age", "column": "Age"}
    assert fields["admission_date"]["format"] == "%d.%m.%Y"
    assert fields["smoker"]["codes"] == {"yes": "true", "no": "false"}
    assert found.document["leaveOut"] == ["Case"]
    assert found.findings == ()
    with pytest.raises(ProblemsFound, match="draft"):
        parse_table_map(found.document, SCHEMA, "map.json")
    file = tmp_path / "map.json"
    file.write_text(json.dumps(found.document).replace('"undeclared"', '"data owner"'))
    table = load_table(parse_address(put(form, tmp_path / form, ROWS), table_map=file), SCHEMA)
    assert sorted(zip(*(column.tolist() for column in table.columns), strict=True)) == [
        (0, 0, 0, 1, 1), (1, 1, 1, 0, 0), (2, 1, 1, 0, 0),
    ]  # fmt: skip


def test_what_is_not_clear_is_left_to_the_owner() -> None:
    found = drafted(
        {"sex a": ["1"], "sex b": ["2"], "admission_type": ["E", "X"], "age": ["7"],
         "admission date": ["01.02.2024", "03/04/2024"], "smoker": ["1"]}, SCHEMA,
    )  # fmt: skip
    names = [field["name"] for field in found.document["fields"]]
    assert names == ["admission_date"]
    assert found.document["leaveOut"] == ["sex a", "sex b"]
    assert [finding.partition(":")[0] for finding in found.findings] == ["sex", "admission_type", "admission_date"]


def test_names_are_compared_by_their_words() -> None:
    assert words_of("PatientSex") == words_of("patient_sex") == words_of("PATIENT SEX") == ("patient", "sex")


def test_a_draft_says_no_codes_of_a_column_that_another_is_computed_of() -> None:
    bins = {"type": "integer", "bins": 2, "constraints": {"minimum": 0, "maximum": 100}, "missingValues": [""]}
    schema = parse_schema(
        {
            "fields": [
                {"name": "before", **bins},
                {"name": "gain", **bins, "compute": {"from": "after", "less": "before"}},
            ]
        },
        "s",
    )
    found = drafted({"Before": ["1", "NA"], "After": ["2"]}, schema)
    assert found.document["fields"] == [{"name": "before", "column": "Before"}, {"name": "after", "column": "After"}]
    assert found.findings == ("before: no missingValues here, as gain is computed of it. Use a view.",)
    parse_table_map(found.document, schema, "map.json")
    own = drafted({"Before": ["1", "NA"], "gain": ["2"]}, schema).document
    assert [field.get("missingValues") for field in own["fields"]] == [["NA"], None]
    for field in own["fields"]:
        field.pop("readOffRows", None)
    assert parse_table_map(own, schema, "map.json").place_of(schema.attributes[1], {"gain"}) == ("gain", False)
