"""What follows from the keys of settings files: their JSON Schemas, their tables in the docs, and new files."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest

from docs.site.declared_keys import KINDS, files
from privity.common.formats.declared_keys import keys_of, new_file, read_settings


def test_committed_schemas_and_tables_are_those_of_the_declarations() -> None:
    others = [place.name for place, text in files() if place.read_text(encoding="utf-8") != text]
    assert not others, "python -m docs.site.declared_keys"


def value(form: dict[str, Any]) -> Any:
    """Some value that fits."""
    if form["type"] == "array":
        return ["north", "south"]
    return {"integer": form.get("minimum"), "string": "localhost:1" if form.get("title") == "host:port" else "1"}[
        form["type"]
    ]


@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.FILE.name)
def test_a_new_file_fits_its_format_with_and_without_its_examples(kind: type[Any], tmp_path: Path) -> None:
    keys = keys_of(kind)
    given = {name: value(each.form) for name, each in keys.items() if each.required and each.start is None}
    text = new_file(kind, **given)
    (tmp_path / "new.toml").write_text(text, encoding="utf-8")
    assert {name for name, each in keys.items() if each.required} <= read_settings(kind, tmp_path / "new.toml").keys()
    shown = re.sub(r"^# (\[?[a-zA-Z_]+(?: = .*|\])$)", r"\1", text, flags=re.MULTILINE)
    (tmp_path / "shown.toml").write_text(shown, encoding="utf-8")
    assert {name for name, each in keys.items() if each.example} <= read_settings(kind, tmp_path / "shown.toml").keys()
