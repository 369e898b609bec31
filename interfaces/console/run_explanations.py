"""What will leave this party, worked out beside the pages: once for each digest, one after another.

Working it out rehearses the run's algorithm, in a process of its own that is ended when it takes too long. No page does
it: a page shows what is there, and asks for the rest.
"""

from __future__ import annotations

import threading
from collections import OrderedDict

from privity.common.data.schema import Schema
from privity.common.protocol.run_spec import RunSpec
from privity.party import told_in_time
from privity.party.run_notice import Leaving

MOST_KEPT = 200
MOST_AWAITED = 20
"""Runs that are awaited at a time; what was asked for last is worked out first."""

Key = tuple[str, str]


class NotYet(Exception):  # noqa: N818 - it is not an error
    """It is being worked out."""


class Explanations:
    """What leaves in runs, by the digests of spec and schema."""

    def __init__(self) -> None:
        self._kept: OrderedDict[Key, list[Leaving] | Exception] = OrderedDict()
        self._awaited: OrderedDict[Key, tuple[RunSpec, Schema]] = OrderedDict()
        self._changed = threading.Condition()
        threading.Thread(target=self._work, daemon=True).start()

    def leaving(self, spec: RunSpec, schema: Schema) -> list[Leaving]:
        """The same as ``told_in_time.leaving_in_time``, which it has called before.

        Raises:
            NotYet: this asks for it.
            Exception: it cannot be worked out.
        """
        key = spec.digest, schema.digest
        with self._changed:
            if key not in self._kept:
                self._awaited[key] = spec, schema
                while len(self._awaited) > MOST_AWAITED:
                    self._awaited.popitem(last=False)
                self._changed.notify()
                raise NotYet
            found = self._kept[key]
        if isinstance(found, Exception):
            raise found
        return found

    def _work(self) -> None:
        while True:
            with self._changed:
                self._changed.wait_for(lambda: self._awaited)
                key, (spec, schema) = next(reversed(self._awaited.items()))
            found: list[Leaving] | Exception
            try:
                found = told_in_time.leaving_in_time(spec, schema)
            except Exception as error:  # a page that waits must not wait for ever
                found = error
            with self._changed:
                self._awaited.pop(key, None)
                self._kept[key] = found
                while len(self._kept) > MOST_KEPT:
                    self._kept.popitem(last=False)
