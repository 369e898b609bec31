"""Files written whole, files that only their owner may read, and files that may be anything until they are opened."""

from __future__ import annotations

import errno
import os
import shutil
import stat
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from io import BufferedReader
from pathlib import Path

from privity.common.errors import Catalogue, PrivityError

LONGEST_PREFIX = 64
"""Characters of a file's name that its scratch folder begins with: a long name leaves room for the rest."""


LARGEST_FILE = 1 << 30
"""Bytes of any file that is read as a whole."""


NO_FILE = "it is no regular file, but a folder, a pipe, a device or the like"
LINKED = "it is a link, which no file that comes from others may be: put the file itself in its place"


def refuse_existing(out: Path, option: str = "out") -> None:
    """What is made by a name that a person gave is never written over anything.

    Raises:
        PrivityError: bad-option.
    """
    if out.exists():
        hint = "Name something that does not exist; nothing is overwritten."
        raise PrivityError(Catalogue.BAD_OPTION, option=option, reason=f"{out} exists already", hint=hint)


def regular(path: Path | str, *, links: bool = True) -> BufferedReader:
    """A file, open for reading, that has a content of its own: no pipe, device or folder, which might never end.

    Args:
        links: whether the path may be a link, as those of a mounted secret are. What came from somebody else may not:
            it would show a file of this machine in the place of its own.

    Raises:
        PrivityError: file-missing, file-unreadable.
    """
    flags = os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK | (0 if links else os.O_NOFOLLOW)
    try:
        handle = os.open(path, flags)
    except FileNotFoundError as error:
        raise PrivityError(Catalogue.FILE_MISSING, file=path) from error
    except OSError as error:
        reason = LINKED if error.errno == errno.ELOOP and not links else error.strerror
        raise PrivityError(Catalogue.FILE_UNREADABLE, file=path, reason=reason) from error
    if not stat.S_ISREG(os.fstat(handle).st_mode):
        os.close(handle)
        raise PrivityError(Catalogue.FILE_UNREADABLE, file=path, reason=NO_FILE)
    return os.fdopen(handle, "rb")


def read_regular(path: Path | str, *, links: bool = True, most: int = LARGEST_FILE) -> bytes:
    """The content of a file, of so many bytes at most; raises as ``regular``."""
    with regular(path, links=links) as file:
        content = file.read(min(os.fstat(file.fileno()).st_size, most) + 1)
    if len(content) > most:
        raise PrivityError(Catalogue.FILE_UNREADABLE, file=path, reason=f"it is larger than {most:,} bytes")
    return content


@contextmanager
def appearing(path: Path) -> Iterator[Path]:
    """A place for a file or a folder, which has this name at the end of the block, or does not appear.

    What has the name is on disk, each file of a folder too. A file or a link that was there is replaced; nothing is
    written through it.

    Raises:
        PrivityError: file-unreadable, if the place cannot be written.
    """
    try:
        with _replacing(path) as scratch:
            yield scratch
    except OSError as error:
        raise PrivityError(Catalogue.FILE_UNREADABLE, file=path, reason=error.strerror or error) from error


def write_text(text: str, path: Path, *, private: bool = False) -> None:
    """Write a text file whole or not at all.

    Args:
        private: readable for its owner only, from the first byte.

    Raises:
        PrivityError: file-unreadable, if the place cannot be written.
    """
    with appearing(path) as scratch:
        if private:
            write_private(scratch, text.encode())
        else:
            scratch.write_text(text, encoding="utf-8")


def write_whole(file: Path, text: str) -> None:
    """The whole text, synced, or what was there before: whoever reads meanwhile sees one of the two."""
    with _replacing(file) as scratch:
        _write_new(scratch, text.encode(), 0o644)


def write_private(file: Path, content: bytes) -> None:
    """The same, readable for its owner only, from the first byte and whatever the umask and the file of before."""
    with _replacing(file) as scratch:
        _write_new(scratch, content, 0o600)


@contextmanager
def _replacing(path: Path) -> Iterator[Path]:
    """A place in a new folder of our own beside ``path``, where nobody else can have put anything before."""
    folder = Path(tempfile.mkdtemp(dir=path.parent, prefix=f".{path.name[:LONGEST_PREFIX]}-"))
    try:
        scratch = folder / path.name
        yield scratch
        for place in (*scratch.rglob("*"), scratch):
            sync(place)
        os.replace(scratch, path)
        sync(path.parent)
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def _write_new(file: Path, content: bytes, mode: int) -> None:
    with os.fdopen(os.open(file, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW, 0o600), "wb") as out:
        out.write(content)
        os.fchmod(out.fileno(), mode)


def sync(path: Path) -> None:
    """Have the content of a file, or the names in a folder, on disk."""
    handle = os.open(path, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


def private_folder(folder: Path) -> None:
    """Make a folder, and those above it that are missing, for their owner only; one that is there stays as it is."""
    for place in (*reversed(folder.parents), folder):
        if not place.exists():
            place.mkdir(mode=0o700, exist_ok=True)
