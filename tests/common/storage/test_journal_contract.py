"""The contract of the store, on which both sides build: one account of it, held against every way to open it.

What a journal must do is what ``Model`` does, a dictionary. A node sees it in memory, in a file, in a file that was
closed and opened again at any moment, or in a file that another process has open too (the owner's commands).
"""

from __future__ import annotations

import tempfile
from pathlib import Path

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, precondition, rule, run_state_machine_as_test

from privity.common.errors import PrivityError
from privity.common.storage.journal import MEMORY, Journal

KEYS = st.sampled_from(
    ["a/x", "a/x/1", "a/y", "a%/x", "a0", "ab/x", "B/x", "#ended/a", "#ended/ab", "\u00e9/x", "a/\U0010ffff"]
)
PREFIXES = st.sampled_from(["", "a/", "a/x", "a/x/", "a", "#ended/", "A", "\u00e9/", "zz"])
DIGESTS = st.sampled_from(["d", "e"])
PAYLOADS = st.binary(max_size=40) | st.just(bytes(5000))


class Model:
    """What a journal is, as a dictionary in the order of writing."""

    def __init__(self) -> None:
        self.entries: dict[str, tuple[str, bytes]] = {}

    def below(self, prefix: str) -> list[str]:
        return [key for key in self.entries if key.startswith(prefix)]

    def forget(self, keys: list[str]) -> None:
        for key in keys:
            self.entries.pop(key, None)


class StoreContract(RuleBasedStateMachine):
    """Every answer of the store is that of the model, whoever opens it in between."""

    path: Path | str

    @initialize()
    def begin(self) -> None:
        self.model = Model()
        self.open()

    def open(self) -> None:
        raise NotImplementedError

    def store(self) -> Journal:
        raise NotImplementedError

    @rule(key=KEYS, digest=DIGESTS, payload=PAYLOADS)
    def record(self, key: str, digest: str, payload: bytes) -> None:
        known = self.model.entries.get(key)
        if known is not None and known[0] != digest:
            with pytest.raises(PrivityError, match="other content") as caught:
                self.store().record(key, digest, payload)
            assert caught.value.code == "step-changed"
        else:
            self.model.entries.setdefault(key, (digest, payload))
            assert self.store().record(key, digest, payload) == self.model.entries[key][1], "the first one wins"

    @rule(key=KEYS, digest=DIGESTS)
    def recall(self, key: str, digest: str) -> None:
        known = self.model.entries.get(key)
        if known is None:
            assert self.store().recall(key, digest) is None
        elif known[0] == digest:
            assert self.store().recall(key, digest) == known[1]
        else:
            with pytest.raises(PrivityError, match="other content"):
                self.store().recall(key, digest)

    @rule(key=KEYS, start=st.integers(0, 50), length=st.integers(0, 5000))
    def recall_part(self, key: str, start: int, length: int) -> None:
        known = self.model.entries.get(key)
        found = self.store().recall_part(key, known[0] if known else "d", slice(start, start + length))
        assert found == (None if known is None else known[1][start : start + length])

    @rule(key=KEYS)
    def content_and_time(self, key: str) -> None:
        known = self.model.entries.get(key)
        assert self.store().content(key) == (None if known is None else known[1])
        assert self.store().digest(key) == self.digest(key)
        assert (self.store().written(key) is None) == (known is None)

    @rule(prefix=PREFIXES)
    def keys(self, prefix: str) -> None:
        assert self.store().keys(prefix) == self.model.below(prefix)
        assert self.store().count(prefix) == len(self.model.below(prefix))
        times = [self.store().written(key) for key in self.model.below(prefix)]
        assert self.store().last_write(prefix) == max(times, default=None)

    @rule(keys=st.lists(KEYS, max_size=3), replaced=st.lists(KEYS, max_size=3), payload=PAYLOADS)
    def record_together(self, keys: list[str], replaced: list[str], payload: bytes) -> None:
        self.store().record_together([(key, "d", payload) for key in keys], instead_of=replaced)
        self.model.forget(replaced)
        for key in keys:
            self.model.entries.setdefault(key, ("d", payload))

    @rule(found=st.dictionaries(KEYS, st.none() | DIGESTS, max_size=2), key=KEYS, payload=PAYLOADS)
    def record_while(self, found: dict[str, str | None], key: str, payload: bytes) -> None:
        holds = all(self.digest(other) == wanted for other, wanted in found.items())
        holds = holds and self.digest(key) in (None, "d")
        assert self.store().record_while(found, key, "d", payload) == holds
        if holds:
            self.model.entries.setdefault(key, ("d", payload))

    def digest(self, key: str) -> str | None:
        return self.model.entries.get(key, (None, b""))[0]

    @rule(prefix=PREFIXES.filter(bool))
    def heads(self, prefix: str) -> None:
        others = self.model.entries.keys() - set(self.model.below(prefix))
        assert self.store().heads_besides(prefix) == {key.partition("/")[0] for key in others}

    @rule(keys=st.lists(KEYS, max_size=3))
    def drop(self, keys: list[str]) -> None:
        self.model.forget(keys)
        self.store().drop(keys)

    @rule(keys=st.lists(KEYS, max_size=3))
    def wipe(self, keys: list[str]) -> None:
        self.model.forget(keys)
        self.store().wipe(keys)

    @precondition(lambda self: self.model.entries)
    @rule(prefix=PREFIXES)
    def erase(self, prefix: str) -> None:
        self.model.forget(self.model.below(prefix))
        self.store().erase(prefix)


class InMemory(StoreContract):
    def open(self) -> None:
        self.journal = Journal(MEMORY)

    def store(self) -> Journal:
        return self.journal

    def teardown(self) -> None:
        self.journal.close()


class InAFile(StoreContract):
    """Held open, as a node does."""

    def open(self) -> None:
        self.folder = tempfile.TemporaryDirectory()
        self.path = Path(self.folder.name) / "journal.sqlite"
        self.journals = [Journal(self.path)]

    def store(self) -> Journal:
        return self.journals[0]

    def teardown(self) -> None:
        for journal in self.journals:
            journal.close()
        self.folder.cleanup()


class ReopenedAtEveryCall(InAFile):
    """A node that is started again between any two calls."""

    def store(self) -> Journal:
        self.journals[0].close()
        self.journals[0] = Journal(self.path)
        return self.journals[0]


class KilledAtEveryCall(InAFile):
    """The same without an orderly end: the write-ahead log is what the next one finds."""

    def store(self) -> Journal:
        self.journals.insert(0, Journal(self.path))
        return self.journals[0]


class SharedByTwo(InAFile):
    """A node and its owner's commands."""

    def open(self) -> None:
        super().open()
        self.journals.append(Journal(self.path))

    def store(self) -> Journal:
        self.journals.reverse()
        return self.journals[0]


@pytest.mark.statistical
@pytest.mark.parametrize("way", [InMemory, InAFile, ReopenedAtEveryCall, KilledAtEveryCall, SharedByTwo])
def test_the_store_keeps_its_contract(way: type[StoreContract], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("privity.common.storage.journal.PART_BYTES", 1000)
    run_state_machine_as_test(way, settings=settings(max_examples=15, stateful_step_count=25))
