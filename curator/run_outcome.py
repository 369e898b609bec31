"""What ends the driving of a run, as an event of its states, with the reason and what to do."""

from __future__ import annotations

import errno
import logging
import traceback
from collections.abc import Awaitable

from privity.common.errors import Catalogue, PrivityError
from privity.curator.pending_steps import PartyRefusedError
from privity.curator.refusals import Refused, RefusedByPartiesError
from privity.curator.run_progress_marks import End
from privity.curator.run_state_machine import COMPLETED, FAILED, STOPPED, Event

HERE = "the curator"  # in the place of paths in what operators are told

_log = logging.getLogger("privity.curator")


async def outcome(run: str, driven: Awaitable[None]) -> tuple[Event, End]:
    """Wait for a run that is driven, and say what came of it.

    Raises:
        PrivityError: no-room: the run goes on when there is some.
    """
    try:
        await driven
    except PrivityError as error:
        if error.kind is Catalogue.NO_ROOM:
            raise
        if error.kind is Catalogue.NO_PROGRESS:
            remedy = f"{error.remedy} Then: privity run resume {run}"
            return Event.SILENCE, End(STOPPED, error.message, remedy, error.code)
        refusals = error.refusals if isinstance(error, RefusedByPartiesError) else ()
        if isinstance(error, PartyRefusedError):
            refusals = (Refused(error.party, error.code, error.message, error.remedy),)
        return Event.FAIL, End(FAILED, error.message, error.remedy, error.code, refusals)
    except OSError as error:
        if error.errno not in (errno.ENOSPC, errno.EDQUOT):
            return Event.FAIL, unforeseen(error, run)
        raise PrivityError(Catalogue.NO_ROOM, file=HERE) from error
    except Exception as error:
        return Event.FAIL, unforeseen(error, run)
    return Event.COMPLETE, End(COMPLETED)


def unforeseen(error: BaseException, run: str) -> End:
    """The class of an unforeseen error is safe to tell and to log; its text might hold anything."""
    place = traceback.extract_tb(error.__traceback__)[-1]
    _log.error(
        "an internal error",
        extra={"run": run, "error": type(error).__name__, "file": place.filename, "line": place.lineno},
    )
    known = PrivityError(Catalogue.INTERNAL, reason=type(error).__name__)
    return End(FAILED, known.message, known.remedy, known.code)
