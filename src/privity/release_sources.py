"""Where a release comes from: a folder, a ZIP file, or either of them on the web. Nothing in it is trusted here.

A release has few files, whose names are known and whose sizes have a limit (``LARGEST_FILES``). No other name is made a
path, and no more is written than a release can have; whether the files are what they should be is then checked in their
folder (``release_verification``).
"""

from __future__ import annotations

import os
import shutil
import stat
import tempfile
import urllib.error
import urllib.request
import weakref
import zipfile
import zlib
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from http.client import HTTPException
from pathlib import Path, PurePosixPath
from typing import IO, Any
from urllib.parse import SplitResult, urlsplit, urlunsplit

from privity.common.errors import Catalogue, PrivityError
from privity.common.formats import read_json, require
from privity.common.release.release_contents import ATTESTATIONS, LARGEST_FILES, RUN, SCHEMA, SYNTHETIC
from privity.common.storage.safe_files import regular
from privity.common.text.hosts import is_here
from privity.common.text.short_values import shorten

ZIP = ".zip"
LARGEST_ZIP = sum(LARGEST_FILES.values())
MOST_MEMBERS = 2 * len(LARGEST_FILES)
"""Of a ZIP file: the files, and folders that they are in."""
BYTES_OF_ROW = 4
"""Most bytes of a row for each byte of the schema: quotes double a text; a value is shorter than its description."""
TIMEOUT_SECONDS = 60
CHUNK = 1 << 20
ENCRYPTED = 1
"""Bit of a ZIP member's flags."""


class OwnFolder:
    """A folder for a release's files that goes when this object does: with its process, not with one forked from it."""

    def __init__(self) -> None:
        self.path = Path(tempfile.mkdtemp(prefix="privity-release-"))
        self.close = weakref.finalize(self, _remove, self.path, os.getpid())

    @property
    def release(self) -> Path:
        """A folder in it that is yet to be made."""
        return self.path / "release"

    def keep(self) -> None:
        """Let the folder stay: what is in it is somebody else's to find."""
        self.close.detach()


def _remove(folder: Path, maker: int) -> None:
    if os.getpid() == maker:
        shutil.rmtree(folder, ignore_errors=True)


def is_url(source: str) -> bool:
    """Whether it is an address on the web, and no path."""
    return "://" in source


def shown(source: str) -> str:
    """A source as it may be shown: an address without what may be a key, its query and a password."""
    if not is_url(source):
        return source
    try:
        parts = urlsplit(source)
        return urlunsplit(parts._replace(netloc=parts.netloc.rpartition("@")[2], query="", fragment=""))
    except ValueError:
        return source.partition("?")[0]


def fetch_release(source: str, folder: Path) -> None:
    """Put the files of a release that is no folder of this machine into an empty folder, unchecked.

    Args:
        source: the path of a ZIP file, or the URL of one or of a folder.

    Raises:
        PrivityError: file-missing, file-unreadable, tampered, connection-failed; bad-option: no such address.
    """
    if not is_url(source):
        _unpack(Path(source), source, folder)
    elif _checked_url(source).path.lower().endswith(ZIP):
        with tempfile.TemporaryDirectory(prefix="privity-download-") as scratch:
            file = Path(scratch) / f"release{ZIP}"
            _download(source, file, LARGEST_ZIP)
            _unpack(file, source, folder)
    else:
        _download(_beside(source, RUN), folder / RUN, LARGEST_FILES[RUN])
        document = read_json(folder / RUN)
        require(document, "run", shown(_beside(source, RUN)))
        for name in document["files"]:
            if name not in LARGEST_FILES:
                raise _strange(source, f"{RUN} names a file {shorten(name)}, which no release has")
        for name in _schema_first(document["files"]):
            if name != RUN:
                _download(_beside(source, name), folder / name, _largest(name, document, folder))


def _schema_first(names: Iterable[str]) -> list[str]:
    return sorted(names, key=lambda name: name != SCHEMA)


def _largest(name: str, run: dict[str, Any], folder: Path) -> int:
    """The most bytes of a file, by ``run.json``, and by the schema if that is in the folder.

    A row is made of texts that the schema holds, or of values of some 20 characters of attributes that it describes.
    """
    if name != SYNTHETIC:
        return LARGEST_FILES[name]
    schema = folder / SCHEMA
    described = schema.stat().st_size if schema.exists() else 0
    return min(LARGEST_FILES[name], (run.get("rows", 0) + 1) * BYTES_OF_ROW * described)


def _unpack(file: Path, source: str, folder: Path) -> None:
    """The files of a ZIP file, which may all be in one folder of it."""
    try:
        with regular(file) as opened, zipfile.ZipFile(opened) as packed:
            members = _members(packed, source)
            if RUN not in members:
                raise _strange(source, f"it has no {RUN}")
            _unpack_one(packed, members.pop(RUN), folder / RUN, LARGEST_FILES[RUN], source)
            run = read_json(folder / RUN, links=False)
            require(run, "run", f"{source}/{RUN}")
            if strange := members.keys() - {ATTESTATIONS, *run["files"]}:
                raise _strange(source, f"it has {', '.join(sorted(strange))}, which its {RUN} does not name")
            for name in _schema_first(members):
                _unpack_one(packed, members[name], folder / name, _largest(name, run, folder), source)
    except (zipfile.BadZipFile, zlib.error, EOFError, NotImplementedError, RuntimeError, ValueError) as error:
        reason = f"it is neither the folder of a release nor a ZIP file of one ({shorten(str(error))})"
        raise PrivityError(Catalogue.FILE_UNREADABLE, file=source, reason=reason) from error
    except OSError as error:
        raise PrivityError(Catalogue.FILE_UNREADABLE, file=source, reason=error.strerror or error) from error


def _unpack_one(packed: zipfile.ZipFile, member: zipfile.ZipInfo, file: Path, most: int, source: str) -> None:
    if member.file_size > most:
        raise _strange(source, f"{file.name} is larger than its {RUN} allows")
    with packed.open(member) as content:
        _write(content, file, most, source)


def _members(packed: zipfile.ZipFile, source: str) -> dict[str, zipfile.ZipInfo]:
    """Each file of the release in a ZIP file, by its plain name.

    Raises:
        PrivityError: tampered: anything else is in it.
    """
    if len(packed.infolist()) > MOST_MEMBERS:
        raise _strange(source, f"it has {len(packed.infolist()):,} members, more than any release")
    found: dict[str, zipfile.ZipInfo] = {}
    folders = set()
    for member in packed.infolist():
        if member.is_dir():
            continue
        path = PurePosixPath(member.filename)
        shown = shorten(member.filename)
        if path.name not in LARGEST_FILES or len(path.parts) > 2 or ".." in path.parts or path.is_absolute():
            raise _strange(source, f"it has a member {shown}, which no release has")
        if stat.S_ISLNK(member.external_attr >> 16) or member.flag_bits & ENCRYPTED:
            raise _strange(source, f"its member {shown} is a link, or encrypted")
        if member.compress_type not in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED):
            raise _strange(source, f"its member {shown} is compressed by something else than deflate")
        if path.name in found:
            raise _strange(source, f"it has {path.name} twice")
        if member.file_size > LARGEST_FILES[path.name]:
            raise _strange(source, f"its member {shown} is larger than that of any release")
        folders.add(path.parent)
        found[path.name] = member
    if len(folders) > 1:
        raise _strange(source, "its files are in several folders")
    return found


def _checked_url(url: str) -> SplitResult:
    """The parts of an address that is dialled: https, or http on this machine, where nobody is in between.

    Raises:
        PrivityError: bad-option.
    """
    try:
        parts = urlsplit(url)
        host = parts.hostname or ""
    except ValueError:
        parts, host = urlsplit(""), ""
    if "@" in parts.netloc:
        raise PrivityError(
            Catalogue.BAD_OPTION, option="source", reason=f"{shorten(shown(url))} has a user or password in it",
            hint="Download the release, and give its path.",
        )  # fmt: skip
    if host and (parts.scheme == "https" or (parts.scheme == "http" and is_here(host))):
        return parts
    raise PrivityError(
        Catalogue.BAD_OPTION, option="source", reason=f"{shorten(shown(url))} is not the address of a release",
        hint="Give the URL of its folder or ZIP file, which begins with https://, or download it and give the path.",
    )  # fmt: skip


def _beside(folder: str, name: str) -> str:
    """The address of a file in a folder; a query, which may be the key to all of them, stays."""
    parts = urlsplit(folder)
    return urlunsplit(parts._replace(path=f"{parts.path.removesuffix(RUN).rstrip('/')}/{name}", fragment=""))


class _SafeRedirects(urllib.request.HTTPRedirectHandler):
    """Redirects are checked like the first address, and lead from elsewhere to nothing on this machine."""

    def redirect_request(self, req: Any, fp: Any, code: int, msg: str, headers: Any, newurl: str) -> Any:
        if is_here(_checked_url(newurl).hostname or "") and not is_here(_checked_url(req.full_url).hostname or ""):
            raise OSError("it redirects to this machine")
        return super().redirect_request(req, fp, code, msg, headers, newurl)


def _download(url: str, file: Path, most: int) -> None:
    _checked_url(url)
    with _told(url):
        opener = urllib.request.build_opener(_SafeRedirects)
        with opener.open(url, timeout=TIMEOUT_SECONDS) as content:
            awaited = content.headers.get("Content-Length")
            _write(content, file, most, url)
        if awaited is not None and awaited.isdecimal() and file.stat().st_size != int(awaited):
            raise OSError("it was cut short")


@contextmanager
def _told(url: str) -> Iterator[None]:
    """What went wrong on the way."""
    try:
        yield
    except (OSError, HTTPException, ValueError) as error:
        if isinstance(error, urllib.error.HTTPError):
            reason = f"it answers {error.code}: {error.reason}"
        else:
            reason = str(getattr(error, "reason", None) or error or type(error).__name__)
        hint = "Check the address; a release is published as a folder of files, or as one ZIP file."
        raise PrivityError(Catalogue.CONNECTION_FAILED, address=shown(url), reason=reason, hint=hint) from None


def _write(content: IO[bytes], file: Path, most: int, source: str) -> None:
    """No more than a release can have."""
    left = most
    with file.open("xb") as out:
        while chunk := content.read(CHUNK):
            left -= len(chunk)
            if left < 0:
                raise _strange(source, f"more of {file.name} than any release has")
            out.write(chunk)


def _strange(source: str, reason: str) -> PrivityError:
    return PrivityError(Catalogue.TAMPERED, what=shown(source), reason=reason)
