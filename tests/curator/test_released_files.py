"""Who is given the files of a run, and what others are told of one that released nothing."""

from __future__ import annotations

from pathlib import Path

import pytest

from privity.common.errors import PrivityError
from privity.common.runs.run_request import parse_request
from privity.curator.released_files import released_files
from privity.curator.run_progress_marks import End
from privity.curator.run_state import Run
from privity.curator.run_state_machine import FAILED
from tests.curator.test_run_driver import request


def test_a_party_is_not_told_what_another_party_said_of_a_run(tmp_path: Path) -> None:
    run = Run("run-1", parse_request(request()), "")
    run.stand(End(FAILED, "party-2 says: party-2 refuses the run: epsilon 1 is above 0.5 a run"), "")
    with pytest.raises(PrivityError, match=r"0\.5 a run"):
        released_files(run, tmp_path / "run-1")
    with pytest.raises(PrivityError, match="run run-1 ended FAILED: it released nothing"):
        released_files(run, tmp_path / "run-1", "party-1")
