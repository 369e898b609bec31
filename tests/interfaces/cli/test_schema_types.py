"""``privity schema types``."""

from __future__ import annotations

from typer.testing import CliRunner

from privity.common.data.attribute import TYPES
from privity.interfaces.cli.main import app
from tests.harness.places import ROOT


def test_the_table_of_types_is_what_the_command_writes() -> None:
    told = CliRunner().invoke(app, ["schema", "types", "--markdown"], catch_exceptions=False).output
    assert told in (ROOT / "docs" / "schema.md").read_text(encoding="utf-8"), "privity schema types --markdown"
    assert {row.split("|")[1].split(",")[0].strip() for row in told.splitlines()[2:]} == set(TYPES)
