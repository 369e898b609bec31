"""How far a pass is: its owner sees it, and nobody else does."""

from __future__ import annotations

import asyncio
import json
import logging
import os
from collections.abc import Callable
from pathlib import Path

import duckdb
import pytest

from privity.common.data.schema import parse_schema
from privity.curator.run_state_machine import COMPLETED
from privity.party.sources import pass_progress
from privity.party.sources.address import parse_address
from privity.party.sources.held_rows import Access, Hold
from privity.party.sources.inspection import inspect
from privity.party.sources.open_rows import open_rows
from privity.party.sources.pass_progress import STATE_FILE, a_pass, kept_in, pass_in_words, polled, shown_on, watched
from tests.curator.test_run_driver import end_of, request
from tests.harness.consortium import make_consortium
from tests.harness.network import NetworkConsortium
from tests.harness.places import ROOT, sources
from tests.harness.stores import put
from tests.party.sources.test_rows_in_a_store import NAME, start_with

SCHEMA = parse_schema({"fields": [{"name": "score", "type": "integer", "categories": [0, 1, 2]}]}, "s")
FORMS = ["csv", "parquet", "arrow", "duckdb", "sqlite"]


@pytest.fixture(autouse=True)
def _at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pass_progress, "SECONDS", 0.0)


@pytest.mark.parametrize("form", FORMS)
def test_the_owner_sees_passes_begin_and_end_whatever_holds_the_rows(form: str, tmp_path: Path) -> None:
    places = range(40_000 if form == "csv" else 600)
    address = parse_address(put(form, tmp_path / form, [{"score": place % 3} for place in places]))
    for hold in (Hold.MEMORY,) if form == "csv" else (Hold.STORE, Hold.CACHE):
        seen: list[float | None] = []
        with watched(seen.append):
            rows = open_rows(address, SCHEMA, Access(hold, 1 << 28, cache=tmp_path / "coded")).rows
            rows.count([(0,)])
            inspect(address, SCHEMA, Access(memory=1 << 28))
        shares = [share for share in seen if share is not None]
        assert shares
        assert all(0 <= share <= 1 for share in shares)
        assert seen[-1] is None, "what has ended is shown no longer"
        if form == "csv":
            assert len(set(shares)) > 1, "a file is not read at once"
    rows.count([(0,)])
    assert seen[-1] is None
    assert len(seen) < 500


def test_a_question_of_duckdb_that_takes_long_is_asked_how_far_it_is(tmp_path: Path) -> None:
    duckdb.sql("SELECT i % 3 AS score FROM range(3000000) AS r(i)").write_parquet(str(tmp_path / "rows.parquet"))
    seen: list[float | None] = []
    with watched(seen.append):
        open_rows(parse_address(str(tmp_path / "rows.parquet")), SCHEMA, Access(Hold.STORE, 1 << 28))
    shares = [share for share in seen if share]
    assert shares == sorted(shares)
    assert shares


def test_what_fails_while_it_is_asked_how_far_it_is_changes_nothing(capfd: pytest.CaptureFixture[str]) -> None:
    def fails() -> float:
        raise duckdb.ConnectionException("closed")

    with watched(lambda share: None), pytest.raises(ValueError, match="the question's own"), polled(fails):
        raise ValueError("the question's own")
    with watched(lambda share: None), a_pass() as told, a_pass() as inner:
        inner(0.5)
        told(0.5)
    assert capfd.readouterr() == ("", "")


def test_a_terminal_shows_the_title_with_the_percentage() -> None:
    class Lines(list[str]):
        update = list.append

    lines = Lines()
    with shown_on(lines, "Reading all rows ..."), a_pass() as told:
        told(0.4342)
        told(7)
    assert lines == ["Reading all rows ... 43 %", "Reading all rows ... 100 %", "Reading all rows ..."]


def test_a_node_keeps_it_for_its_owner_while_a_pass_is_at_work_and_no_longer(tmp_path: Path) -> None:
    (tmp_path / STATE_FILE).write_text("of a node that was killed")
    assert pass_in_words(tmp_path) == ""
    with kept_in(tmp_path):
        assert not (tmp_path / STATE_FILE).exists()
        with a_pass() as told:
            told(0.256)
            assert pass_in_words(tmp_path).startswith("A pass over the rows is at 25 % (seen at 20")
            assert (tmp_path / STATE_FILE).stat().st_mode & 0o777 == 0o600
            assert set(json.loads((tmp_path / STATE_FILE).read_text())) == {"share", "at"}
            os.utime(tmp_path / STATE_FILE, (0, 0))
            assert pass_in_words(tmp_path) == "", "a node that was killed does not pass"
        assert not list(tmp_path.iterdir())
    with kept_in(tmp_path / "missing"), a_pass() as told:
        told(0.5)  # a disk that is full ends no pass


def test_only_what_shows_it_to_the_owner_knows_of_it() -> None:
    commands = ("party", "party_approvals", "party_check", "party_schema", "simulate", "synthesize")
    shown_by = {*(f"interfaces/cli/{name}.py" for name in commands), "interfaces/console/party_console.py"}
    shown_by |= {"src/privity/local_learner.py", "assessment/simulation/simulated_run.py"}
    found = {str(file.relative_to(ROOT)) for file in sources() if "pass_progress" in file.read_text()}
    assert {file for file in found if not file.startswith("party/sources/")} == shown_by
    text = Path(pass_progress.__file__).read_text()
    assert "logging" not in text
    assert not {"party/agent.py", "party/step_answers.py"} & found


@pytest.fixture
def kept(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """All that a node keeps of its passes, each time."""
    texts: list[str] = []
    dumps: Callable[..., str] = json.dumps

    def noted(content: dict[str, object]) -> str:
        texts.append(str(content["share"]))
        return dumps(content)

    monkeypatch.setattr(
        pass_progress.json,
        "dumps",
        lambda content, **how: noted(content) if "share" in content else dumps(content, **how),
    )
    return texts


@pytest.mark.process
def test_nothing_of_it_is_sent_or_logged(
    kept: list[str], tmp_path: Path, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    caplog.set_level(logging.DEBUG)
    consortium = make_consortium(2, domain=(2, 3, 2), rows=60, seed=5)
    table = consortium.parties[NAME].table
    names = consortium.schema.names
    rows = [dict(zip(names, map(str, codes), strict=True)) for codes in zip(*table.columns, strict=True)]
    monkeypatch.setattr("privity.party.sources.duckdb_store.BATCH_ROWS", 7)
    odd = iter(range(10**6))
    monkeypatch.setattr(pass_progress, "min", lambda *_: 0.123 + next(odd) / 10**4, raising=False)
    address = parse_address(put("parquet", tmp_path / "moved", rows))
    (tmp_path / "state").mkdir()

    async def scenario() -> None:
        async with NetworkConsortium(tmp_path, consortium) as network:
            served = network.server.runs
            assert await end_of(served, network.submit("one", request())) == (COMPLETED, "")

    with kept_in(tmp_path / "state"):
        start_with(consortium, open_rows(address, consortium.schema, Access(Hold.STORE, 1 << 28)).rows)
        asyncio.run(scenario())
    assert len(kept) > 5
    clock = ("created", "msecs", "relativeCreated")
    fields = [{**record.__dict__, "message": record.getMessage()}.items() for record in caplog.records]
    told = [str(value) for some in fields for name, value in some if name not in clock]
    told += [message.decode("latin-1") for _, message in consortium.recorder.received]
    for share in kept:
        assert not [text for text in told if share in text or f"{float(share):.0%}".replace("%", " %") in text]
