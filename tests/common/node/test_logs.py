"""What the formatters write of a record, whatever a call passes."""

from __future__ import annotations

import io
import json
import logging
import sys
from collections.abc import Iterator

import pytest

from privity.common.node.logs import LIBRARY, JsonLines, LogFormat, TextLines, errors_for_logs

PRIVATE = "forty-two"


@pytest.fixture(params=[TextLines, JsonLines])
def written(request: pytest.FixtureRequest) -> Iterator[tuple[logging.Logger, logging.Logger, io.StringIO]]:
    """One of our loggers, a library's, and what both write."""
    stream = io.StringIO()
    handler = logging.StreamHandler(stream)
    handler.setFormatter(request.param())
    loggers = logging.getLogger("privity.test_logs"), logging.getLogger("some.library")
    for logger in loggers:
        logger.addHandler(handler)
        logger.setLevel(logging.DEBUG)
    yield *loggers, stream
    for logger in loggers:
        logger.removeHandler(handler)


def test_nothing_but_the_text_and_known_fields_is_written(written) -> None:
    ours, library, stream = written
    ours.info("counted %s", PRIVATE)
    ours.info("a step", extra={"run": "run-1", "counts": PRIVATE})
    library.error("counted %s", PRIVATE)
    try:
        raise ValueError(PRIVATE)
    except ValueError:
        ours.error("an error", exc_info=sys.exc_info(), stack_info=True)
        library.exception(PRIVATE)
    lines = stream.getvalue().splitlines()
    assert len(lines) == 5, "a record is a line"
    assert PRIVATE not in stream.getvalue()
    assert "run-1" in lines[1]
    assert LIBRARY in lines[2]
    assert all("ValueError" in line for line in lines[3:])


def test_a_value_makes_no_line_of_its_own(written) -> None:
    ours, _, stream = written
    ours.info("a step", extra={"run": "run-1\n2026-01-01T00:00:00Z INFO privity.party: forged", "step": "a b"})
    assert stream.getvalue().count("\n") == 1


def test_json_lines_are_typed_and_times_are_whole_seconds_of_utc() -> None:
    record = logging.LogRecord("privity.x", logging.WARNING, "", 0, "expires", None, None)
    record.created, record.holder, record.days = 1_700_000_000.789, "party/north", 7
    assert json.loads(JsonLines().format(record)) == {
        "time": "2023-11-14T22:13:20Z",
        "level": "WARNING",
        "logger": "privity.x",
        "event": "expires",
        "holder": "party/north",
        "days": 7,
    }
    assert TextLines().format(record) == "2023-11-14T22:13:20Z WARNING privity.x: expires holder=party/north days=7"


@pytest.mark.parametrize("form", LogFormat)
def test_what_nobody_foresaw_ends_a_node_with_class_and_place_only(form: LogFormat, caplog) -> None:
    with pytest.raises(SystemExit), errors_for_logs(form):
        raise ValueError(PRIVATE)
    (record,) = caplog.records
    assert PRIVATE not in JsonLines().format(record)
    assert (record.error, record.file) == ("ValueError", __file__)
