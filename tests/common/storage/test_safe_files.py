"""Files that we write, beside what another user has put there before: nothing goes through it, nobody reads along."""

from __future__ import annotations

import os
import stat
from collections.abc import Callable
from pathlib import Path

import pytest

from privity.common.errors import PrivityError
from privity.common.storage.safe_files import appearing, read_regular, write_private, write_text, write_whole

Write = Callable[[Path], None]


def appear(file: Path) -> None:
    with appearing(file) as scratch:
        scratch.write_bytes(b"secret")


PRIVATE = [lambda file: write_private(file, b"secret"), lambda file: write_text("secret", file, private=True)]
EVERY = [*PRIVATE, lambda file: write_whole(file, "secret"), appear]


@pytest.mark.parametrize("write", PRIVATE)
def test_who_holds_an_older_file_open_does_not_read_the_new_one(write: Write, tmp_path: Path) -> None:
    file = tmp_path / "party.toml"
    file.write_text("old")
    file.chmod(0o644)
    with file.open() as held:
        write(file)
        assert held.read() == "old"
    assert file.read_text() == "secret"
    assert stat.S_IMODE(file.stat().st_mode) == 0o600


@pytest.mark.parametrize("write", EVERY)
def test_a_link_in_the_place_is_replaced_and_what_it_names_stays(write: Write, tmp_path: Path) -> None:
    victim, file = tmp_path / "victim", tmp_path / "out.json"
    victim.write_text("precious")
    file.symlink_to(victim)
    write(file)
    assert (victim.read_text(), file.read_text()) == ("precious", "secret")
    assert not file.is_symlink()


@pytest.mark.parametrize("write", EVERY)
def test_nothing_that_was_there_before_is_written(
    write: Write, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Not even the scratch names of before, which a number of a process told: here as files, read by another."""
    file = tmp_path / "out.json"
    planted = tmp_path / f".{file.name}.{os.getpid()}.tmp"
    planted.write_text("planted")
    opened: list[tuple[str, int]] = []
    original = os.open

    def watched(path: str | Path, flags: int, *rest: int, **options: int) -> int:
        opened.append((str(path), flags))
        return original(path, flags, *rest, **options)

    monkeypatch.setattr(os, "open", watched)
    write(file)
    assert planted.read_text() == "planted"
    assert file.read_text() == "secret"
    written = [flags for _, flags in opened if flags & os.O_WRONLY]
    assert all(flags & os.O_EXCL and flags & os.O_NOFOLLOW for flags in written)
    assert sorted(tmp_path.iterdir()) == sorted([file, planted])


@pytest.mark.parametrize("write", EVERY)
def test_nobody_else_can_look_into_the_place_of_what_is_not_whole_yet(
    write: Write, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    modes: list[int] = []
    replace = os.replace

    def watched(source: Path, target: Path) -> None:
        modes.append(stat.S_IMODE(source.parent.stat().st_mode))
        replace(source, target)

    monkeypatch.setattr(os, "replace", watched)
    write(tmp_path / "out.json")
    assert modes
    assert set(modes) == {0o700}


def test_a_failure_leaves_what_was_there_and_no_scratch(tmp_path: Path) -> None:
    file = tmp_path / ("n" * 250)
    file.write_text("old")

    def fail() -> None:
        with appearing(file) as scratch:
            scratch.write_text("half")
            raise OSError(28, "full")

    with pytest.raises(PrivityError, match="full"):
        fail()
    assert [path.read_text() for path in tmp_path.iterdir()] == ["old"]


def test_a_file_is_read_if_it_is_regular_and_no_larger_than_it_may_be(tmp_path: Path) -> None:
    file, link, pipe = tmp_path / "file", tmp_path / "link", tmp_path / "pipe"
    file.write_bytes(b"12345")
    link.symlink_to(file)
    os.mkfifo(pipe)
    assert read_regular(file, links=False, most=5) == read_regular(link) == b"12345"
    none = tmp_path / "none"
    cases = {link: "it is a link", pipe: "no regular file", tmp_path: "no regular file", none: "no such file"}
    for path, words in cases.items():
        with pytest.raises(PrivityError, match=words):
            read_regular(path, links=False)
    with pytest.raises(PrivityError, match="no regular file"):
        read_regular("/dev/zero")
    with pytest.raises(PrivityError, match="larger than 4 bytes"):
        read_regular(file, most=4)
