"""An exception at every step after the charge: what was learnt is a release, and costs nothing to go on from."""

from __future__ import annotations

import json
import sys
import tempfile
from contextlib import closing
from pathlib import Path
from types import CodeType

import pandas as pd
import pytest

import privity
from privity import local_learner
from privity.common.data.schema import parse_schema
from privity.common.errors import PrivityError
from privity.common.exit_codes import Exit
from privity.common.privacy.ledger import Ledger
from privity.common.privacy.ledger_folder import open_ledger
from privity.common.release import session_release, synthetic_rows
from privity.common.release.open_model import open_model
from privity.common.release.release_folder import verify_release
from privity.common.release.report.report_page import report_of
from privity.common.release.synthetic_rows import synthesise
from privity.common.release.verification.release_verification import check_release
from privity.common.runs import rehearsed_release
from privity.curator import run_driver
from privity.interfaces.cli.main import main
from privity.local_learner import LocalLearner
from privity.synthesizers import SYNTHESIZERS
from tests.harness.command import here
from tests.harness.forked_nodes import forked_nodes
from tests.harness.ledgers import declared
from tests.harness.long import thinned

STEPS = ("/common/release/", "/common/data/coded_table.py", "/common/storage/safe_files.py")
"""Modules that a release is made by."""

DRAWN = 20
"""One of so many functions that draw the report is tried: whatever fails there is caught in one place."""

PARTS = 14
"""Of the steps, each as long as a test should be."""

SCHEMA = parse_schema(
    {
        "fields": [
            {"name": "children", "type": "integer", "categories": [0, 1, 2, 3]},
            {"name": "age", "type": "integer", "edges": [0, 2, 4, 8]},
        ],
        "rowConstraints": ["children <= age"],
    },
    "families",
)
ROWS = pd.DataFrame({"children": [0, 1, 2, 3, 0, 1] * 10, "age": [0, 1, 3, 7, 5, 6] * 10})


class Broken(Exception):  # noqa: N818 - it says what was done
    """Thrown where nobody foresaw it."""


class Tracer:
    """Notes each function of a release's modules that is called, and breaks at one of them.

    Args:
        at: the function that throws where it is entered first; None throws nowhere.
    """

    def __init__(self, at: CodeType | None = None) -> None:
        self.at = at
        self.seen: dict[CodeType, None] = {}

    def __call__(self, frame: object, event: str, _of: object) -> None:
        code = frame.f_code
        if event != "call" or code in self.seen or not any(step in code.co_filename for step in STEPS):
            return
        self.seen[code] = None
        if code is self.at:
            raise Broken(code.co_qualname)

    def __enter__(self) -> Tracer:
        sys.setprofile(self)
        return self

    def __exit__(self, *_why: object) -> None:
        sys.setprofile(None)


@pytest.fixture
def fit(tmp_path) -> LocalLearner:
    declared(tmp_path / "ledger.sqlite").close()
    return SYNTHESIZERS["one-way"]("5", population="people", ledger=tmp_path / "ledger.sqlite")


def is_gone_on_from(folder: Path) -> None:
    """Its rows can be drawn, its report made, and all of it is as it should be."""
    check_release(folder)
    frame = synthesise(open_model(folder), 20, 1)
    assert (frame["children"] <= frame["age"]).all()
    assert "How good is it?" in report_of(folder)


def as_made(monkeypatch, fit: LocalLearner, folder: Path) -> list[CodeType]:
    """The steps of a release, and the release; few rows are sampled for each of those that follow."""
    for size in ("LEAST_SAMPLE", "PILOT", "PILOT_OF_SHARES"):
        monkeypatch.setattr(synthetic_rows, size, 256)
    # Where a release goes that has no room in its own folder.
    monkeypatch.setattr(tempfile, "tempdir", str(folder.parent))
    fit.fit(ROWS, SCHEMA)
    with Tracer() as traced:
        fit.publish(folder)
    drawn = [code for code in traced.seen if "/report/" in code.co_filename]
    return [code for code in traced.seen if code not in drawn] + drawn[::DRAWN]


@pytest.mark.parametrize("part", thinned(range(PARTS), PARTS))
def test_whatever_throws_after_the_charge_leaves_a_release(fit, tmp_path, monkeypatch, part):
    steps = as_made(monkeypatch, fit, tmp_path / "whole")
    assert {"release_rows", "rows_to_publish", "write_csv", "learnt_release", "_write_json"} <= {
        code.co_name for code in steps
    }
    left = {"whole": 0, "unfinished": 0, "elsewhere": 0}
    for place, step in enumerate(steps[part::PARTS]):
        out = tmp_path / str(place)
        try:
            with Tracer(step):
                fit.publish(out)
            folder, how = out, "whole"
        except PrivityError as error:
            # Any other error names no release.
            folder = Path(error.fields["file"])
            how = "unfinished" if folder == out else "elsewhere"
        left[how] += 1
        verify_release(folder)
        if place % 8 == 0:
            is_gone_on_from(folder)
    assert min(left.values()), left


def test_a_model_is_there_though_the_ledger_fails_after_the_charge(fit, tmp_path, monkeypatch):
    charged = Ledger.spent

    def failing(ledger: Ledger, run: str | None = None) -> object:
        if run is not None:
            raise OSError("as a disk that is gone")
        return charged(ledger)

    monkeypatch.setattr(Ledger, "spent", failing)
    with pytest.raises(PrivityError, match="a disk that is gone") as told:
        fit.learn(ROWS, SCHEMA, out=tmp_path / "out")
    assert told.value.fields["file"] == tmp_path / "out"
    is_gone_on_from(tmp_path / "out")
    assert len(fit.sample(7)) == 7
    assert fit.charged_.epsilon == fit.spent_.epsilon == 5


def test_what_cannot_be_made_of_invented_rows_is_told_before_a_row_is_read(fit, tmp_path, monkeypatch):
    def broken(*_arguments: object) -> None:
        raise ZeroDivisionError("as a fault in a drawing")

    def unread(*_arguments: object) -> None:
        raise AssertionError("a row was read")

    monkeypatch.setattr(rehearsed_release, "report_page", broken)
    with pytest.raises(PrivityError, match="ZeroDivisionError") as told:
        fit.learn(unread, SCHEMA, out=tmp_path / "out")
    assert told.value.code == "rehearsal-failed"
    with closing(open_ledger("people", tmp_path / "ledger.sqlite")) as ledger:
        assert ledger.spent() == 0
    assert not (tmp_path / "out").exists()


def faulty(*_arguments: object) -> None:
    """In the place of what draws rows."""
    raise IndexError("as of a rule")


def rehearsed(*_told: object, **_more: object) -> None:
    """A rehearsal that goes well."""


FAULTS = [
    (local_learner, "rehearse_release", rehearsed),
    (run_driver, "rehearse_release", rehearsed),
    (session_release, "release_rows", faulty),
]


def faulty_node() -> None:
    """A node of a process of its own."""
    for module, name, does in FAULTS:
        setattr(module, name, does)
    main()


COMMANDS = ["synthesize --population people --ledger ledger.sqlite", "simulate --parties 2 --key-bits 2048"]


@pytest.mark.process
@pytest.mark.parametrize("command", COMMANDS)
def test_a_command_that_fails_after_the_charge_leaves_what_others_go_on_from(tmp_path, monkeypatch, command):
    declared(tmp_path / "ledger.sqlite").close()
    (tmp_path / "schema.json").write_text(json.dumps(SCHEMA.table_schema()))
    ROWS.to_csv(tmp_path / "table.csv", index=False)

    for module, name, does in FAULTS:
        monkeypatch.setattr(module, name, does)
    options = "--data table.csv --schema schema.json --epsilon 5 --algorithm one-way --out out"
    with forked_nodes(f"{__name__}:{faulty_node.__name__}"):
        done = here(tmp_path, f"privity {command} {options}")
    assert done.returncode == Exit.FAILED, done.stderr
    assert "release-unfinished" in done.stderr
    assert "IndexError" in done.stderr
    monkeypatch.undo()
    for next_one in (
        "sample out --rows 20 --out rows.csv", "report out --out page.html", "verify out", "show out",
    ):  # fmt: skip
        done = here(tmp_path, f"privity {next_one}")
        assert done.returncode == Exit.DONE, (next_one, done.stderr)
    assert len(pd.read_csv(tmp_path / "rows.csv")) == 20
    found = privity.Release(tmp_path / "out")
    assert len(found.sample(5)) == 5
    assert "The release has no synthetic rows" in found.report
    assert "unfinished" in repr(found)
    with pytest.raises(PrivityError, match="no synthetic rows"):
        _ = found.rows
