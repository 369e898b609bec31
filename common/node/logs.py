"""What nodes log: a fixed text and a few named fields a line, as text or as JSON.

Formatters write the fields of ``FIELDS`` and nothing else of a record: neither arguments nor tracebacks, and of
libraries' records only whose they are. So a line cannot hold a value, a count or a score, whatever went wrong.
Times are in whole seconds: how long a party works may depend on its rows.
"""

from __future__ import annotations

import contextlib
import json
import logging
import re
import traceback
from collections.abc import Iterator
from datetime import UTC, datetime
from enum import StrEnum

from privity.common.errors import Catalogue, PrivityError, RowProblemsFound
from privity.common.exit_codes import Exit, exit_code

FIELDS = (
    "run", "step", "phase", "party", "state", "reason", "status", "error", "file", "line", "holder", "days", "serial",
    "detail", "remedy",
)  # fmt: skip
"""What a line may tell besides its text: names, codes, places in our own code, words of the error catalogue."""

OWN = "privity"
"""First part of the names of all our loggers."""

LIBRARY = "a library logged an error; what it said is not shown"

_PLAIN = re.compile(r"[\w.:/+-]+")
_log = logging.getLogger("privity.node")


class LogFormat(StrEnum):
    """How lines look."""

    TEXT = "text"
    JSON = "json"


def content_of(record: logging.LogRecord) -> dict[str, str | int]:
    """What a line shows of a record."""
    own = record.name.partition(".")[0] == OWN
    found: dict[str, str | int] = {
        "time": f"{datetime.fromtimestamp(record.created, UTC):%Y-%m-%dT%H:%M:%SZ}",
        "level": record.levelname,
        "logger": record.name,
        # The text as the code has it: arguments, if there were any, are not put in.
        "event": str(record.msg) if own else LIBRARY,
    }
    if record.exc_info and record.exc_info[0]:
        found["error"] = record.exc_info[0].__name__
    if own:
        given = {name: record.__dict__[name] for name in FIELDS if name in record.__dict__}
        found |= {name: value if isinstance(value, int) else str(value) for name, value in given.items()}
    return found


class JsonLines(logging.Formatter):
    """One JSON object a line."""

    def format(self, record: logging.LogRecord) -> str:
        return json.dumps(content_of(record))


class TextLines(logging.Formatter):
    """Time, level, logger and text, then ``name=value``; what is not plain is quoted, so that no value makes a line."""

    def format(self, record: logging.LogRecord) -> str:
        found = content_of(record)
        head = f"{found.pop('time')} {found.pop('level')} {found.pop('logger')}: {found.pop('event')}"
        fields = (f"{name}={v if _PLAIN.fullmatch(str(v)) else json.dumps(v)}" for name, v in found.items())
        return " ".join((head, *fields))


def configure(form: LogFormat) -> None:
    """Log to standard error from now on, in this process: our own lines, and that a library met an error."""
    handler = logging.StreamHandler()
    handler.setFormatter(JsonLines() if form is LogFormat.JSON else TextLines())
    logging.basicConfig(level=logging.ERROR, handlers=[handler], force=True)
    logging.getLogger(OWN).setLevel(logging.INFO)
    logging.captureWarnings(True)


@contextlib.contextmanager
def errors_for_logs(form: LogFormat) -> Iterator[None]:
    """What ends a node is told without values of rows, and in JSON as a line too; for all that a node does.

    Raises:
        PrivityError: the same, or in the place of faults of rows one that does not quote them.
        SystemExit: it was told as a line: in JSON, and whatever nobody foresaw.
    """
    try:
        yield
    except (PrivityError, OSError) as met:
        error = _without_values(met)
        if form is LogFormat.TEXT:
            raise error from None
        _log.critical("the node ends", extra={"reason": error.code, "detail": error.message, "remedy": error.remedy})
        raise SystemExit(exit_code(error)) from None
    except Exception as error:
        # Its text, and a traceback's, might hold anything.
        place = traceback.extract_tb(error.__traceback__)[-1]
        _log.critical(
            "the node ends: an internal error",
            extra={"error": type(error).__name__, "file": place.filename, "line": place.lineno},
        )
        raise SystemExit(Exit.OTHER) from None


def _without_values(error: PrivityError | OSError) -> PrivityError:
    """The error in words of the catalogue; of faults of rows only that there are some."""
    if isinstance(error, OSError):
        reason = error.strerror or type(error).__name__
        return PrivityError(Catalogue.FILE_UNREADABLE, file=error.filename or "a file", reason=reason)
    if isinstance(error, RowProblemsFound):
        reason = "rows in it do not fit the schema; privity party check shows which"
        return PrivityError(Catalogue.FILE_UNREADABLE, file=error.problems[0].file, reason=reason)
    return error
