"""The committed vectors are what their independent generator writes."""

from __future__ import annotations

import runpy
from pathlib import Path

from tests.harness.places import ROOT

VECTORS = ROOT / "tests" / "vectors"


def test_the_generator_writes_the_committed_vectors(tmp_path: Path) -> None:
    runpy.run_path(str(VECTORS / "generate.py"))["main"](tmp_path)
    made = {file.name: file.read_text() for file in tmp_path.glob("*.json")}
    assert len(made) == 5
    for name, text in made.items():
        assert (VECTORS / name).read_text() == text, name
