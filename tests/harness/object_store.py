"""A real object store on this machine: an HTTP server that speaks S3, and can be told to misbehave."""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from moto.moto_server.werkzeug_app import DomainDispatcherApplication, create_backend_app
from pyarrow import fs
from werkzeug.serving import make_server

BUCKET = "lake"
HOST = "127.0.0.1"
KEYS = {"AWS_ACCESS_KEY_ID": "reader", "AWS_SECRET_ACCESS_KEY": "another sea fish", "AWS_EC2_METADATA_DISABLED": "true"}

Request = dict[str, Any]
Answer = tuple[str, str] | None
"""A status and a body in the place of the store's own answer."""


def error(status: str, code: str) -> tuple[str, str]:
    """What S3 answers when something is wrong."""
    return status, f'<?xml version="1.0"?><Error><Code>{code}</Code><Message>no more</Message></Error>'


@dataclass
class ObjectStore:
    """A running one.

    Attributes:
        endpoint: its URL.
        meddle: sees each request first, and may answer in the store's place.
        asked: the requests so far: method and path.
    """

    endpoint: str
    system: fs.S3FileSystem
    meddle: Callable[[Request], Answer]
    asked: list[tuple[str, str]]

    def address(self, path: str) -> str:
        """Of the objects at a path of the bucket."""
        return f"s3://{BUCKET}/{path}?endpoint={self.endpoint}"

    def put(self, path: str, table: pa.Table, rows: int | None = None) -> None:
        """Write an object, in groups of so many rows."""
        pq.write_table(table, f"{BUCKET}/{path}", filesystem=self.system, row_group_size=rows)

    def remove(self, path: str) -> None:
        self.system.delete_file(f"{BUCKET}/{path}")


def nothing(request: Request) -> Answer:
    """Meddles with no request."""


@contextmanager
def object_store(certificate: tuple[Path, Path] | None = None, authority: Path | None = None) -> Iterator[ObjectStore]:
    """An object store with one bucket, and the keys for it in the environment.

    Args:
        certificate: files of one and of its key, for TLS; authority: the file of its authority's.
    """
    logging.getLogger("werkzeug").setLevel(logging.ERROR)
    whole = DomainDispatcherApplication(create_backend_app)

    def application(request: Request, start: Callable[..., Any]) -> Any:
        store.asked.append((request["REQUEST_METHOD"], request["PATH_INFO"]))
        answer = store.meddle(request)
        if answer is None:
            return whole(request, start)
        status, body = answer
        start(status, [("Content-Type", "application/xml"), ("Content-Length", str(len(body)))])
        return [b"" if request["REQUEST_METHOD"] == "HEAD" else body.encode()]

    context = None if certificate is None else (str(certificate[0]), str(certificate[1]))
    server = make_server(HOST, 0, application, threaded=True, ssl_context=context)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    scheme = "http" if certificate is None else "https"
    place = f"{HOST}:{server.server_port}"
    with pytest.MonkeyPatch.context() as patch:
        for name, value in KEYS.items():
            patch.setenv(name, value)
        trusted = {} if authority is None else {"tls_ca_file_path": str(authority)}
        system = fs.S3FileSystem(
            endpoint_override=place, scheme=scheme, region="us-east-1", allow_bucket_creation=True,
            background_writes=False, **trusted,
        )  # fmt: skip
        store = ObjectStore(f"{scheme}://{place}", system, nothing, [])
        try:
            system.create_dir(BUCKET)
            yield store
        finally:
            server.shutdown()
            server.server_close()
