"""Run a notebook in a new kernel, with ledgers of its own and in an empty folder."""

from __future__ import annotations

import os
import tempfile
from pathlib import Path
from unittest.mock import patch

import nbformat
from nbclient import NotebookClient

SECONDS = 600
"""For one cell, on a busy machine."""


def executed(file: Path) -> str:
    """The notebook with the outputs of a run from top to bottom, as text.

    Raises:
        nbclient.exceptions.CellExecutionError: a cell failed.
    """
    notebook = nbformat.read(file, as_version=4)
    for cell in notebook.cells:
        if cell.cell_type == "code":
            cell.outputs, cell.execution_count = [], None
    with tempfile.TemporaryDirectory() as scratch:
        # A reader's ledgers stay as they are, and messages show no path of this machine.
        with patch.dict(os.environ, XDG_STATE_HOME=scratch):
            client = NotebookClient(notebook, timeout=SECONDS, resources={"metadata": {"path": scratch}})
            client.execute()
        for cell in notebook.cells:
            cell.metadata.pop("execution", None)
    notebook.metadata = {
        "kernelspec": {"display_name": "Python 3", "language": "python", "name": "python3"},
        "language_info": {"name": "python"},
    }
    return nbformat.writes(notebook) + "\n"
