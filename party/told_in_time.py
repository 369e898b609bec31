"""What will leave this party, worked out in a process of its own that is ended when it takes too long.

Its size is bounded (``Algorithm.check_size``), and its time is bounded here: neither a page nor a command of an owner
waits for what an operator asked for.
"""

from __future__ import annotations

import multiprocessing
import signal
from multiprocessing.connection import Connection

from privity.common.data.schema import Schema
from privity.common.errors import Catalogue, PrivityError
from privity.common.protocol.run_spec import RunSpec
from privity.party import run_notice
from privity.party.run_notice import Leaving

MOST_SECONDS = 300.0
"""The largest run that is admitted takes less: docs/performance.md."""


def leaving_in_time(spec: RunSpec, schema: Schema) -> list[Leaving]:
    """The same as ``run_notice.leaving``, found by another process.

    Raises:
        PrivityError: not-told-in-time, or what that process refused.
    """
    # Not forked: a thread of this process may hold a lock, and a child that inherits it waits for ever.
    context = multiprocessing.get_context("spawn")
    here, there = context.Pipe(duplex=False)
    child = context.Process(target=_send, args=(there, spec, schema), daemon=True)
    child.start()
    there.close()
    try:
        found = here.recv() if here.poll(MOST_SECONDS) else None
    except EOFError:  # it was killed, most likely for want of memory
        found = None
    finally:
        child.kill()
        child.join()
        here.close()
    if found is None:
        raise PrivityError(Catalogue.NOT_TOLD_IN_TIME, run=spec.run, seconds=round(MOST_SECONDS))
    if isinstance(found, Exception):
        raise found
    assert isinstance(found, list)
    return found


def _send(to: Connection, spec: RunSpec, schema: Schema) -> None:
    # A person's Ctrl-C is for the command alone, which ends this process then.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    found: list[Leaving] | Exception
    try:
        found = run_notice.leaving(spec, schema)
    except Exception as error:
        found = error
    to.send(found)
