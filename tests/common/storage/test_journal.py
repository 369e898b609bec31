"""The journal: one answer a key, for ever or until its run is erased."""

import sqlite3
import stat
import threading
from multiprocessing.context import BaseContext
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from privity.common.errors import PrivityError, ProblemsFound
from privity.common.storage.journal import FORMAT_VERSION, Journal

WRITERS = 4
KEYS = 10


def raw_bytes(path: Path) -> bytes:
    """Everything on disk that belongs to the journal."""
    return b"".join(file.read_bytes() for file in sorted(path.parent.glob(path.name + "*")))


@pytest.fixture
def path(tmp_path):
    return tmp_path / "journal.sqlite"


def test_a_journal_of_another_version_is_refused_and_left_as_it_is(path):
    Journal(path).record("a", "d", b"x")
    with sqlite3.connect(path) as written:
        assert written.execute("PRAGMA user_version").fetchone() == (FORMAT_VERSION,)
        written.execute("PRAGMA user_version = 2")
        before = list(written.iterdump())
    with pytest.raises(ProblemsFound, match=r"2 is not 1\. Another version of Privity wrote it"):
        Journal(path)
    assert list(written.iterdump()) == before
    assert written.execute("PRAGMA user_version").fetchone() == (2,)
    written.close()


def test_an_unknown_key_has_no_answer():
    assert Journal().recall("run/step", "d") is None


def test_the_first_write_wins_and_every_later_one_gets_it():
    journal = Journal()
    assert journal.record("run/step", "d", b"first") == b"first"
    assert journal.record("run/step", "d", b"second") == b"first"
    assert journal.recall("run/step", "d") == b"first"


def test_entries_that_belong_together_are_stored_together():
    journal = Journal()
    journal.record("run/a", "d", b"first")
    journal.record_together([("run/a", "d", b"second"), ("run/b", "e", b"new")])
    assert journal.recall("run/a", "d") == b"first"
    assert journal.recall("run/b", "e") == b"new"
    with pytest.raises(sqlite3.Error):
        journal.record_together([("run/c", "d", b"one"), ("run/d", None, b"no digest"), ("run/e", object(), b"")])
    assert journal.keys("run/") == ["run/a", "run/b"]
    journal.record("run/c", "d", b"later")
    assert journal.recall("run/c", "d") == b"later"


@pytest.mark.parametrize("payload", [b"", b"\x00\xff" * 3, bytes(1 << 20)])
def test_payloads_come_back_byte_by_byte(payload):
    journal = Journal()
    journal.record("key", "d", payload)
    assert journal.recall("key", "d") == payload


@given(st.binary(max_size=20_000), st.integers(0, 21_000), st.integers(0, 21_000))
def test_a_part_of_a_payload_is_that_part(payload, start, length):
    journal = Journal()
    journal.record("other", "d", b"x" * 5000)
    journal.record("key", "d", payload)
    assert journal.recall_part("key", "d", slice(start, start + length)) == payload[start : start + length]


def test_a_part_is_refused_as_the_whole_is():
    journal = Journal()
    journal.record("key", "d", b"answer")
    assert journal.recall_part("unknown", "d", slice(0, 1)) is None
    with pytest.raises(PrivityError, match="key"):
        journal.recall_part("key", "e", slice(0, 1))


def test_one_entry_is_dropped_and_its_neighbours_stay():
    journal = Journal()
    for key in ("run/vector/1", "run/vector/10"):
        journal.record(key, "d", b"x")
    journal.drop(["run/vector/1"])
    assert journal.keys("run/") == ["run/vector/10"]


def test_another_digest_under_a_known_key_is_refused_and_changes_nothing():
    journal = Journal()
    journal.record("run/step", "d", b"answer")
    for ask in (lambda: journal.recall("run/step", "e"), lambda: journal.record("run/step", "e", b"other")):
        with pytest.raises(PrivityError, match="run/step") as caught:
            ask()
        assert caught.value.code == "step-changed"
    assert journal.recall("run/step", "d") == b"answer"


def test_keys_are_listed_by_prefix_in_the_order_of_writing_and_no_character_is_a_wildcard():
    journal = Journal()
    for key in ("run/b", "run/a", "run%/c", "run_/d", "runs/e", "RUN/f"):
        journal.record(key, "d", b"")
    assert journal.keys("run/") == ["run/b", "run/a"]
    assert journal.keys("run%") == ["run%/c"]
    assert journal.keys("run_") == ["run_/d"]


@pytest.mark.parametrize("closed", [True, False])
def test_entries_survive_reopening(path, closed):
    journal = Journal(path)
    journal.record("run/step", "d", b"answer")
    if closed:
        journal.close()
    again = Journal(path)
    assert again.recall("run/step", "d") == b"answer"
    assert again.record("run/step", "d", b"other") == b"answer"
    assert again.keys("") == ["run/step"]


@pytest.mark.parametrize("size", [40, 300_000])
def test_erasing_removes_the_bytes_from_the_files(path, size):
    secret = b"secret vector of a party " * (size // 25 + 1)
    kept = b"an answer that stays " * (size // 21 + 1)
    journal = Journal(path)
    for i in range(3):
        journal.record(f"run-1/{i}", "d", secret)
    journal.record("run-2/0", "d", kept)
    assert secret[:25] in raw_bytes(path)
    journal.erase("run-1/")
    assert secret[:25] not in raw_bytes(path)
    assert kept[:21] in raw_bytes(path)
    assert journal.keys("run-1/") == []
    assert journal.recall("run-1/0", "another digest") is None
    assert journal.recall("run-2/0", "d") == kept


def test_erasing_a_run_spares_runs_whose_name_begins_alike():
    journal = Journal()
    for key in ("run-1/x", "run-10/x", "closed/run-1"):
        journal.record(key, "d", b"")
    journal.erase("run-1/")
    assert journal.keys("") == ["run-10/x", "closed/run-1"]


def test_an_erasure_under_the_eyes_of_a_reader_is_logged_and_mended_by_the_next(path, caplog):
    journal = Journal(path)
    journal.record("run/0", "d", b"secret vector of a party")
    reader = sqlite3.connect(path, isolation_level=None)
    reader.execute("BEGIN")
    reader.execute("SELECT * FROM entries").fetchall()
    journal._db.execute("PRAGMA busy_timeout = 50")
    journal.erase("run/")
    assert "another process reads the journal" in caplog.text
    reader.execute("COMMIT")
    journal.erase("run/")
    assert b"secret vector" not in raw_bytes(path)


def test_the_files_are_the_owner_s_alone(path):
    journal = Journal(path)
    journal.record("key", "d", b"answer")
    assert {stat.S_IMODE(file.stat().st_mode) for file in path.parent.iterdir()} == {0o600}
    assert {file.name for file in path.parent.iterdir()} >= {path.name, path.name + "-wal"}


def test_a_record_is_on_disk_before_it_returns(path):
    journal = Journal(path)
    journal.record("run/step", "d", b"answer")
    with sqlite3.connect(f"file:{path}?mode=ro", uri=True) as other:
        assert other.execute("SELECT payload FROM entries WHERE key = 'run/step'").fetchone() == (b"answer",)
        assert journal._db.execute("PRAGMA synchronous").fetchone() == (2,)  # FULL: every commit is synced


def write_all(path: Path, name: str, start, answers) -> None:
    start.wait()
    journal = Journal(path)
    answers.put([journal.record(f"key-{i}", "d", f"{name}-{i}".encode()) for i in range(KEYS)])
    journal.close()


def test_threads_that_share_a_journal_agree_on_every_answer():
    journal, answers = Journal(), []

    def write(name: int) -> None:
        answers.append([journal.record(f"key-{i}", "d", f"{name}".encode()) for i in range(50)])

    threads = [threading.Thread(target=write, args=(i,)) for i in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(answers) == 8
    assert all(answer == answers[0] for answer in answers)


def test_opening_a_new_file_waits_for_another_that_is_writing_to_it(path):
    other = sqlite3.connect(path, isolation_level=None, check_same_thread=False)
    other.execute("BEGIN IMMEDIATE")
    other.execute("CREATE TABLE early (x)")
    timer = threading.Timer(0.2, other.execute, ["COMMIT"])
    timer.start()
    assert Journal(path).record("key", "d", b"answer") == b"answer"
    timer.join()


@pytest.mark.process
def test_processes_that_open_a_new_file_at_once_agree_on_every_answer(path, processes: BaseContext):
    start, answers = processes.Event(), processes.Queue()
    writers = [processes.Process(target=write_all, args=(path, f"p{i}", start, answers)) for i in range(WRITERS)]
    for process in writers:
        process.start()
    start.set()
    found = [answers.get(timeout=120) for _ in writers]
    for process in writers:
        process.join()
    assert all(answer == found[0] for answer in found)
    assert [process.exitcode for process in writers] == [0] * WRITERS


@pytest.mark.parametrize(
    ("found", "holds"),
    [
        ({"a": "1"}, True),
        ({"a": "1", "b": None}, True),
        ({"a": "2"}, False),
        ({"a": None}, False),
        ({"b": "1"}, False),
        ({"a": "1", "b": "1"}, False),
    ],
)
def test_an_entry_is_recorded_only_while_others_are_as_they_were_found(found, holds):
    journal = Journal()
    journal.record("a", "1", b"x")
    assert journal.record_while(found, "c", "3", b"y") is holds
    assert journal.digest("c") == ("3" if holds else None)
    assert journal.count("") == (2 if holds else 1)


def test_an_entry_takes_the_place_of_one_of_its_own_key():
    journal = Journal()
    journal.record("a", "1", b"x")
    journal.record_together([("a", "2", b"y")], instead_of=["a"])
    assert (journal.digest("a"), journal.content("a")) == ("2", b"y")
