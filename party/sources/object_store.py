"""Files in an object store (S3, or what speaks its protocol): Arrow reads them, DuckDB codes, as with files.

Arrow has the client built in. DuckDB's own is an extension that is downloaded, which a hospital may not allow.
"""

from __future__ import annotations

import fnmatch
import os
import re
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import cached_property, partial
from pathlib import PurePosixPath
from typing import Any

import duckdb
import pyarrow as pa
import pyarrow.dataset
from pyarrow import fs

from privity.common.errors import Catalogue, PrivityError
from privity.party.sources.address import Address, Form, form_of
from privity.party.sources.duckdb_store import VIEW, EmbeddedStore, gathered

ENDPOINTS = ("AWS_ENDPOINT_URL_S3", "AWS_ENDPOINT_URL")
SECURE, CLEAR = "https", "http"
CONNECT_SECONDS = 10.0
SILENT_SECONDS = 30.0
"""Without a byte, after which a request is given up."""

ATTEMPTS = 3
ASKED_AT_ONCE = 8
"""Objects of which it is asked what they are."""

WILD = re.compile(r"[*[]")
TOLD = ("Content-Length", "ETag", "Last-Modified", "VersionId")
"""What an object store says of an object, by which it is seen whether it is another."""

KEYS = (
    "See that AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, or ~/.aws/credentials, of the account that runs this hold "
    "the keys, and that they may list the bucket and read its objects."
)
SIGNS = (
    ("NO_SUCH_BUCKET", Catalogue.SOURCE_REFUSED, "there is no such bucket", "Correct the address, or the endpoint."),
    (
        "EXPIRED|Expired|HTTP status 400", Catalogue.SOURCE_UNREACHABLE,
        "its keys have expired, or its region is another",
        "Renew the keys where they are kept; write the region into the address (?region=NAME). The node retries.",
    ),
    (
        "ACCESS_DENIED|INVALID_ACCESS_KEY|InvalidAccessKey|SIGNATURE_DOES_NOT_MATCH|UNRECOGNIZED_CLIENT|"
        "INVALID_CLIENT_TOKEN|MISSING_AUTHENTICATION|HTTP status 40[13]",
        Catalogue.SOURCE_REFUSED, "it does not let its objects be read", KEYS,
    ),
    (
        "HTTP status 301|PermanentRedirect|AuthorizationHeaderMalformed", Catalogue.SOURCE_REFUSED,
        "the bucket is in another region", "Write the region into the address: ?region=NAME.",
    ),
    (
        "SSL|curlCode: (35|60|77)", Catalogue.SOURCE_UNREACHABLE,
        "it does not speak TLS, or its certificate is not known here",
        "Name the file of its authority's certificate in AWS_CA_BUNDLE.",
    ),
    (
        "FileNotFound|NO_SUCH_KEY|RESOURCE_NOT_FOUND|No such file", Catalogue.SOURCE_UNREACHABLE,
        "an object is not there",
        "See that the objects are there, and stay as they are while a run is at work. The node retries.",
    ),
    (
        "AWS Error|IOError", Catalogue.SOURCE_UNREACHABLE, "it does not answer",
        "See that the endpoint is the right one and answers. The node retries.",
    ),
)  # fmt: skip
"""By what an error says: what is wrong, and what to do about it."""


class ObjectStore(EmbeddedStore):
    """A ``Store`` that is ``Parted``: parts are some groups of rows of its Parquet files.

    Raises:
        PrivityError: source-unreachable, source-refused; bad-option: an endpoint that is no URL.
    """

    _avoided = "statistics_propagation,filter_pushdown"

    def __init__(self, address: Address, memory: int) -> None:
        super().__init__(address, memory)
        self._system = _system(address)
        with self._told():
            self._paths = self._found()

    def _found(self) -> list[str]:
        """The objects as they are now, in order of their names."""
        pattern = self._address.pattern
        about = self._system.get_file_info(pattern)
        if about.type is fs.FileType.File:
            return [pattern]
        if about.type is fs.FileType.NotFound and WILD.search(pattern):
            steps = pattern.split("/")
            fixed = next(place for place, step in enumerate(steps) if WILD.search(step))
            base, fits = "/".join(steps[:fixed]), partial(_fits, steps=steps)
        else:
            base, fits = pattern, partial(_within, folder=pattern)
        found = self._system.get_file_info(fs.FileSelector(base, recursive=True))
        paths = sorted(one.path for one in found if one.type is fs.FileType.File and fits(one.path))
        if not paths:
            raise FileNotFoundError
        if any(form_of(path) is not Form.PARQUET for path in paths):
            reason, hint = "it has files of another kind than Parquet", "Name those that are by a pattern: *.parquet."
            raise PrivityError(Catalogue.SOURCE_REFUSED, source=self.name, reason=reason, hint=hint)
        return paths

    def state(self) -> str:
        with self._told(), ThreadPoolExecutor(ASKED_AT_ONCE) as asking:
            if self._found() != self._paths:
                raise PrivityError(Catalogue.SOURCE_CHANGED, source=self.name)
            return "\n".join(asking.map(self._about, self._paths))

    def _about(self, path: str) -> str:
        with self._system.open_input_file(path) as file:
            told = file.metadata()
        return ":".join([path, *(told.get(name, b"").decode() for name in TOLD)])

    @cached_property
    def _whole(self) -> pyarrow.dataset.FileSystemDataset:
        return pyarrow.dataset.dataset(self._paths, format="parquet", filesystem=self._system)

    @cached_property
    def _fragments(self) -> Sequence[pyarrow.dataset.ParquetFileFragment]:
        """Files, with what their ends say of them."""
        return list(self._whole.get_fragments())

    def _durations(self, columns: Mapping[str, Any]) -> Mapping[str, Any]:
        return {}  # Arrow tells DuckDB

    def _schemas(self) -> Sequence[pa.Schema]:
        with ThreadPoolExecutor(ASKED_AT_ONCE) as asking:
            return list(asking.map(lambda fragment: fragment.physical_schema, self._fragments))

    @cached_property
    def _portions(self) -> Sequence[Sequence[pyarrow.dataset.ParquetFileFragment]]:
        with self._told():
            return gathered(
                [
                    (fragment.subset(row_group_ids=[group.id]), group.total_byte_size)
                    for fragment in self._fragments
                    for group in fragment.row_groups
                ]
            )

    def _look_at(self, connection: duckdb.DuckDBPyConnection) -> None:
        whole = self._whole
        pieces = self._fragments if self._portion is None else self._portion
        rows = pyarrow.dataset.FileSystemDataset(pieces, whole.schema, whole.format, self._system)
        connection.register(VIEW, rows)

    def _failure(self, error: Exception) -> PrivityError:
        # What it says may hold a request: it is searched, and never repeated.
        said = f"{type(error).__name__}: {error}"
        for sign, kind, reason, hint in SIGNS:
            if re.search(sign, said):
                return PrivityError(kind, source=self.name, reason=reason, hint=hint)
        return super()._failure(error)


def _system(address: Address) -> fs.S3FileSystem:
    """The client, with keys from where those of AWS are found."""
    settings = address.settings or {}
    named = settings.get("endpoint") or next((os.environ[name] for name in ENDPOINTS if os.environ.get(name)), "")
    more: dict[str, Any] = {}
    if named:
        found = re.fullmatch(rf"(?:({SECURE}|{CLEAR})://)?([^/@?#\s]+)/?", named)
        if found is None:
            raise PrivityError(
                Catalogue.BAD_OPTION, option="data", reason=f"{address.name}: its endpoint is no URL of a server",
                hint="Write it like https://objects.clinic.example:9000, into the address or AWS_ENDPOINT_URL.",
            )  # fmt: skip
        more = {"scheme": found[1] or SECURE, "endpoint_override": found[2]}
    if os.environ.get("AWS_CA_BUNDLE"):
        more["tls_ca_file_path"] = os.environ["AWS_CA_BUNDLE"]
    region = settings.get("region") or os.environ.get("AWS_REGION") or os.environ.get("AWS_DEFAULT_REGION")
    return fs.S3FileSystem(
        region=region or ("us-east-1" if named else None),
        connect_timeout=CONNECT_SECONDS,
        request_timeout=SILENT_SECONDS,
        retry_strategy=fs.AwsStandardS3RetryStrategy(max_attempts=ATTEMPTS),
        **more,
    )


def _within(path: str, folder: str) -> bool:
    """Whether an object is a whole file in a folder, at any depth; not if a name begins with a dot or underscore."""
    inside = PurePosixPath(path).relative_to(folder)
    return form_of(path) is not None and not any(step.startswith((".", "_")) for step in inside.parts)


def _fits(path: str, steps: Sequence[str]) -> bool:
    """Whether a path fits a pattern, step by step, as a shell has it."""
    names = path.split("/")
    return len(names) == len(steps) and all(
        fnmatch.fnmatchcase(name, step) and (step.startswith(".") or not name.startswith("."))
        for name, step in zip(names, steps, strict=True)
    )
