"""Files written whole, and files that only their owner may read."""

from __future__ import annotations

import os
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from common.errors import Catalogue, PrivityError


@contextmanager
def appearing(path: Path) -> Iterator[Path]:
    """A place beside ``path`` for a file or a folder, which has this name at the end of the block, or does not appear.

    A file that was there is replaced.

    Raises:
        PrivityError: file-unreadable, if the place cannot be written.
    """
    scratch = path.with_name(f".{path.name}.{os.getpid()}.tmp")
    try:
        yield scratch
        sync(scratch)
        os.replace(scratch, path)
    except OSError as error:
        raise PrivityError(Catalogue.FILE_UNREADABLE, file=path, reason=error.strerror or error) from error
    finally:
        if scratch.is_dir():
            shutil.rmtree(scratch, ignore_errors=True)
        else:
            scratch.unlink(missing_ok=True)


def write_whole(file: Path, text: str) -> None:
    """The whole text, synced, or what was there before: whoever reads meanwhile sees one of the two."""
    handle, scratch = tempfile.mkstemp(dir=file.parent, prefix=f".{file.name}-")
    try:
        with os.fdopen(handle, "w", encoding="utf-8") as out:
            out.write(text)
            out.flush()
            os.fsync(out.fileno())
        Path(scratch).chmod(0o644)
        Path(scratch).replace(file)
    except BaseException:
        Path(scratch).unlink(missing_ok=True)
        raise


def sync(path: Path) -> None:
    """Have the content of a file, or the names in a folder, on disk."""
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def write_private(file: Path, content: bytes) -> None:
    """Readable for its owner only, from the first byte."""
    descriptor = os.open(file, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
    with os.fdopen(descriptor, "wb") as out:
        os.fchmod(descriptor, 0o600)
        out.write(content)
