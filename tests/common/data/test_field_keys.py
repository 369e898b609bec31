"""Keys of a field are declared once: reading, writing, digests and refusals follow."""

from __future__ import annotations

import pytest

from privity.common.data.attribute import PLAIN_KEYS, TYPES
from privity.common.data.field_keys import FORM, types_of
from privity.common.data.schema import parse_schema
from privity.common.errors import ProblemsFound

FIELD = {"name": "paid", "type": "number", "constraints": {"minimum": 0, "maximum": 9}, "bins": 3}
GIVEN = {
    "decimals": 2, "decimalChar": ",", "groupChar": " ", "bareNumber": False, "readOffRows": "organiser",
    "title": "Paid", "description": "Of a visit",
}  # fmt: skip
OF_OTHER_TYPES = {"categoriesOrdered", "format", "timezone"}


def test_every_plain_key_and_every_type_that_a_key_names_is_declared() -> None:
    assert {each.key for each in PLAIN_KEYS.values()} == GIVEN.keys() | OF_OTHER_TYPES
    assert GIVEN.keys() | OF_OTHER_TYPES <= FORM.keys()
    assert all(set(types_of(key)) <= set(TYPES) for key in FORM)
    assert types_of("name") == tuple(FORM["type"]["enum"]) == TYPES


def test_plain_keys_are_written_as_they_were_read_in_the_order_of_the_format() -> None:
    schema = parse_schema({"fields": [{**GIVEN, **FIELD}]}, "s")
    (written,) = schema.table_schema()["fields"]
    assert written == {**FIELD, **GIVEN}
    assert [*written] == [key for key in FORM if key in written]


@pytest.mark.parametrize("key", GIVEN)
def test_a_digest_says_what_is_coded_or_who_declared_it_and_nothing_else(key: str) -> None:
    plain, given = (parse_schema({"fields": [field]}, "s") for field in (FIELD, {**FIELD, key: GIVEN[key]}))
    assert (plain.digest != given.digest) == (key in ("decimals", "readOffRows"))
    of_rows = key in ("decimalChar", "groupChar", "bareNumber")
    assert (key in given.released.table_schema()["fields"][0]) == (not of_rows)


@pytest.mark.parametrize("kind", TYPES)
def test_a_key_of_other_types_is_refused_with_these(kind: str) -> None:
    keys = [key for key in ("decimals", "decimalChar", "format") if kind not in types_of(key)]
    wrong = {key: GIVEN.get(key, "default") for key in keys}
    with pytest.raises(ProblemsFound) as caught:
        parse_schema({"fields": [{"name": "x", "type": kind, **wrong}, {"name": "x"}]}, "s")
    found = {p.field: p.remedy for p in caught.value.problems if p.rule == "type-mismatch"}
    remedies = {f"fields[0].{key}": f"declare another type: {', '.join(types_of(key))}." for key in wrong}
    assert {field: remedy.partition(", or ")[2] for field, remedy in found.items()} == remedies
