"""The notebooks of the gallery: run from top to bottom, each ends in a picture, and runs again as it stands."""

from __future__ import annotations

import json
from importlib.util import find_spec
from pathlib import Path

import pytest

from docs.gallery import NOTEBOOKS
from tests.harness.places import ROOT


@pytest.mark.parametrize("file", NOTEBOOKS, ids=lambda file: file.stem)
def test_a_notebook_was_run_from_top_to_bottom_and_ends_in_a_picture(file: Path) -> None:
    cells = json.loads(file.read_text(encoding="utf-8"))["cells"]
    code = [cell for cell in cells if cell["cell_type"] == "code"]
    assert [cell["execution_count"] for cell in code] == list(range(1, len(code) + 1))
    outputs = [output for cell in code for output in cell["outputs"]]
    assert not [output for output in outputs if output["output_type"] == "error" or output.get("name") == "stderr"]
    assert code[-1] is cells[-1]
    assert "image/png" in code[-1]["outputs"][-1]["data"]
    assert len(code[-1]["metadata"]["alt"]) > 40
    assert str(ROOT) not in json.dumps(outputs)


@pytest.mark.long
@pytest.mark.process
@pytest.mark.timeout(1200)
@pytest.mark.skipif(not (find_spec("nbclient") and find_spec("ipykernel")), reason="not installed: privity[gallery]")
@pytest.mark.parametrize("file", NOTEBOOKS, ids=lambda file: file.stem)
def test_a_notebook_runs_as_it_stands(file: Path) -> None:
    from docs.gallery.execution import executed

    again = json.loads(executed(file))["cells"]
    assert [cell["source"] for cell in again] == [cell["source"] for cell in json.loads(file.read_text())["cells"]]
    assert "image/png" in again[-1]["outputs"][-1]["data"]
