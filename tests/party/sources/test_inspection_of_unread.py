"""What a look at rows says of columns that it never read."""

from __future__ import annotations

import pytest

from privity.common.data.schema import parse_schema
from privity.party.sources.held_rows import Access
from privity.party.sources.inspection import inspect
from privity.party.sources.source_settings import RowSettings

SCHEMA = parse_schema({"fields": [{"name": name, "type": "integer", "categories": [1, 2]} for name in ("a", "b")]}, "s")


@pytest.mark.parametrize(
    ("text", "misses"),
    [
        ("a,b\n1,1\n2,2\n", (0, 0)),
        ("a,b\n1,9\n2,2\n", (0, 1)),
        ("a,c\n1,1\n7,1\n", (1, None)),
        ("c,d\n1,1\n", (None, None)),
        ("a,a\n1,1\n", (None, None)),
        ("", (None, None)),
    ],
)
def test_a_column_that_was_not_read_has_no_number_of_rows_outside(tmp_path, text, misses):
    (tmp_path / "t.csv").write_text(text)
    address = RowSettings(str(tmp_path / "t.csv"), tmp_path).address()
    found = inspect(address, SCHEMA, Access(memory=1 << 20))
    assert found.misses == misses
    assert bool(found.problems) == (misses != (0, 0))


def test_a_column_that_one_of_several_files_lacks_was_not_read(tmp_path):
    (tmp_path / "t1.csv").write_text("a,b\n1,9\n")
    (tmp_path / "t2.csv").write_text("a\n5\n")
    address = RowSettings(str(tmp_path / "t*.csv"), tmp_path).address()
    assert inspect(address, SCHEMA, Access(memory=1 << 20)).misses == (1, None)
