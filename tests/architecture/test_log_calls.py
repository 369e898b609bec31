"""Every log call, read: a fixed text, and fields that hold nothing but what is listed here.

The formatters write no arguments, tracebacks or unknown fields, whatever a call passes
(tests/common/node/test_logs.py).
"""

from __future__ import annotations

import ast
import re

import pytest

from privity.common.node.logs import FIELDS
from tests.harness.places import ROOT

SOURCES = [p for name in ("common", "party", "curator") for p in (ROOT / name).rglob("*.py") if "wire/v1" not in str(p)]
LEVELS = {"debug", "info", "warning", "error", "critical"}

# What each field may be: names, codes, places in our own code, words of the error catalogue.
LOGGED = {
    "run": {"run", "run.name", "step.run"},
    "step": {"step.key"},
    "phase": {"phase"},
    "party": {"party"},
    "state": {"stands.state"},
    "reason": {"code", "error.code", "found.stage.value", "reason_of(stands.code)", "refusal.code", "why.value"},
    "status": {"error.code().name", "code.name"},
    "error": {"type(error).__name__"},
    "file": {"place.filename"},
    "line": {"place.lineno"},
    "holder": {"expiring.holder", "holder"},
    "days": {"expiring.days"},
    "serial": {"manifest.serial", "manifests.current().serial"},
    "detail": {"error.message"},
    "remedy": {"error.remedy"},
}


def faults(source: str) -> list[str]:
    """What in a module could write to a log anything but fixed texts and listed fields."""
    found = []
    good = set()
    tree = ast.parse(source)
    for node in ast.walk(tree):
        match node:
            case ast.Call(func=ast.Attribute(value=ast.Name(id="_log") as name, attr=level)) if level in LEVELS:
                good.add(name)
                found += faults_of_call(node)
            case ast.Assign(
                targets=[ast.Name(id="_log") as name],
                value=ast.Call(
                    func=ast.Attribute(value=ast.Name(id="logging") as module, attr="getLogger"),
                    args=[ast.Constant(value=str() as logger)],
                ),
            ) if logger.startswith("privity."):
                good |= {name, module}
    for node in ast.walk(tree):
        match node:
            case ast.Name(id="_log" | "logging") if node not in good:
                found.append(f"line {node.lineno}: {node.id} is for fixed texts and listed fields only")
            case ast.ImportFrom(module="logging" | "warnings") | ast.alias(name="logging" | "warnings", asname=str()):
                found.append("logging and warnings are imported under their own names")
            case ast.Attribute(value=ast.Name(id="sys"), attr="stderr" | "stdout"):
                found.append(f"line {node.lineno}: standard output and error are for log lines and commands")
            case ast.Attribute(value=ast.Name(id="traceback" | "warnings"), attr=name) if name not in QUIET:
                found.append(f"line {node.lineno}: {name} shows values")
    return found


QUIET = {"extract_tb", "catch_warnings", "simplefilter"}


def faults_of_call(call: ast.Call) -> list[str]:
    here = f"line {call.lineno}: "
    match call:
        case ast.Call(args=[ast.Constant(value=str())], keywords=[]):
            return []
        case ast.Call(
            args=[ast.Constant(value=str())],
            keywords=[ast.keyword(arg="extra", value=ast.Dict(keys=keys, values=values))],
        ):
            pairs = [
                (ast.literal_eval(k) if isinstance(k, ast.Constant) else "**", v)
                for k, v in zip(keys, values, strict=True)
            ]
            shown = [(key, ast.unparse(value)) for key, value in pairs]
            return [f"{here}{key} = {value}" for key, value in shown if value not in LOGGED.get(str(key), set())]
    return [f"{here}a log call is a fixed text and, perhaps, extra={{...}}"]


def test_log_calls_carry_nothing_but_listed_fields() -> None:
    sources = {path.relative_to(ROOT).as_posix(): path.read_text(encoding="utf-8") for path in SOURCES}
    # The formatters and their set-up are made of the module logging.
    formatters = sources.pop("common/node/logs.py")
    assert "getMessage" not in formatters
    assert "formatException" not in formatters
    # It warns Python programs, of a schema. No node does.
    door = faults(sources.pop("common/text/terminal.py"))
    assert [fault.partition(": ")[2] for fault in door] == ["warn shows values"]
    assert not [name for name, source in sources.items() if re.search(r"\bwarn\(", source)]
    assert not {name: found for name, source in sources.items() if (found := faults(source))}


def test_every_field_is_listed() -> None:
    assert set(LOGGED) == set(FIELDS)


HEAD = 'import logging\n_log = logging.getLogger("privity.x")\n'


@pytest.mark.parametrize(
    "bad",
    [
        '_log.info(f"counts {counts}")',
        '_log.info("counts %s", counts)',
        '_log.info("counts " + str(counts))',
        '_log.info("counts", extra={"counts": counts})',
        '_log.info("a step", extra={"step": counts})',
        '_log.info("a step", extra={"step": f"{step.key} {counts}"})',
        '_log.info("a step", extra={**fields})',
        '_log.info("a step", extra=fields)',
        '_log.error("an error", exc_info=True)',
        '_log.exception("an error")',
        "_log.log(20, counts)",
        "tell = _log.info\ntell(counts)",
        "show(_log)",
        "logging.error(counts)",
        'other = logging.getLogger("privity.y")\nother.info(counts)',
        "from logging import getLogger",
        "import logging as quiet",
        "import warnings\nwarnings.warn(str(counts))",
        "import sys\nsys.stderr.write(str(counts))",
        "import traceback\ntraceback.print_exc()",
    ],
)
def test_a_call_that_could_leak_is_found(bad: str) -> None:
    assert faults(HEAD + bad)


def test_calls_as_they_should_be_are_not_found() -> None:
    assert not faults(HEAD + '_log.info("a step", extra={"run": step.run, "step": step.key})\n_log.error("idle")')
