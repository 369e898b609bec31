"""A node's schema, and a newer one that is kept ready beside it until a manifest names it.

A manifest names its schema by digest, so it does not matter by which way the file came.
"""

from __future__ import annotations

import os
from pathlib import Path

from privity.common.consortium.manifest import Manifest
from privity.common.data.schema import Schema, load_schema
from privity.common.errors import Catalogue, PrivityError
from privity.common.storage.safe_files import write_whole

SCHEMA_AWAITED = "the schema that the newest manifest names"
END_AWAITED = "the end of a run over the schema of before"
"""What a run under a manifest over another schema waits for at a party."""

READY = "next-"
"""Begins the name of the file that is kept ready."""


class SchemaFile:
    """``schema.json`` of a node.

    Args:
        path: of the schema in use.
        schema: what it holds, if it was read already.
    """

    def __init__(self, path: Path, schema: Schema | None = None) -> None:
        self.path = path
        self._kept = schema

    @property
    def ready_path(self) -> Path:
        """Where a newer one is kept ready."""
        return self.path.with_name(READY + self.path.name)

    def ready(self) -> Schema | None:
        """The schema that is kept ready, if there is one."""
        return _read(self.ready_path)

    def keep_ready(self, given: Path) -> Schema:
        """Keep a copy of this schema ready.

        Raises:
            PrivityError, ProblemsFound: it cannot be read, or is a draft that nobody has reviewed.
        """
        schema = load_schema(given)
        schema.require_reviewed(given)
        write_whole(self.ready_path, given.read_text(encoding="utf-8-sig"))
        return schema

    def named(self, manifest: Manifest) -> Schema | None:
        """The schema that this manifest names, if it is kept ready or in use."""
        for path in (self.ready_path, self.path):
            if (schema := _read(path)) is not None and schema.digest == manifest.schema_digest:
                return schema
        return None

    def settle(self, manifest: Manifest) -> None:
        """Put the one that is kept ready in the place of the one in use, if this manifest names it."""
        ready = self.ready()
        if ready is not None and ready.digest == manifest.schema_digest:
            os.replace(self.ready_path, self.path)

    def of(self, manifest: Manifest) -> Schema:
        """The schema that a curator goes by under this manifest; the one before if it has no other."""
        if self._kept is None or self._kept.digest != manifest.schema_digest:
            self._kept = self.named(manifest) or self._kept or load_schema(self.path)
        return self._kept


def _read(path: Path) -> Schema | None:
    """The schema in this file; None if there is no such file, or not any more."""
    try:
        return load_schema(path)
    except PrivityError as error:
        if error.kind is not Catalogue.FILE_MISSING:
            raise
        return None
