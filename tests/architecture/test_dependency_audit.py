"""What CI makes of the answer about the packages that the tests ran with."""

from __future__ import annotations

import importlib.util
import json

import pytest

from tests.harness.places import ROOT

SCRIPT = ROOT / ".ci" / "audit_dependencies.py"


def verdict(returned: str) -> tuple[int, list[str]]:
    spec = importlib.util.spec_from_file_location("audit_dependencies", SCRIPT)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module.verdict(returned)


FINE = {"name": "numpy", "version": "2.0", "vulns": []}
VULNERABLE = {"name": "old", "version": "1.0", "vulns": [{"id": "PYSEC-1", "fix_versions": ["1.1"], "aliases": []}]}
UNKNOWN = {"name": "mirrored", "skip_reason": "Dependency not found on PyPI"}


@pytest.mark.parametrize(
    ("found", "code", "said"),
    [
        ([FINE], 0, "1 audited, 0 advisories"),
        ([FINE, VULNERABLE], 1, "vulnerable: old 1.0: PYSEC-1, mended in 1.1"),
        ([UNKNOWN, UNKNOWN], 0, "does not know them here: 2"),
        ([UNKNOWN, VULNERABLE], 1, "1 audited, 1 advisories"),
    ],
)
def test_an_advisory_fails_and_ignorance_does_not(found: list[dict], code: int, said: str) -> None:
    returned, lines = verdict(json.dumps({"dependencies": found, "fixes": []}))
    assert returned == code
    assert any(said in line for line in lines)


@pytest.mark.parametrize("returned", ["", "Traceback ..."])
def test_a_database_that_is_out_of_reach_is_reported_and_not_fatal(returned: str) -> None:
    assert verdict(returned) == (0, ["dependencies not audited: the database of advisories could not be reached"])
