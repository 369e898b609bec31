"""What CI makes of the answer about the packages that are installed for a node or a release."""

from __future__ import annotations

import json
import runpy
from collections.abc import Callable
from typing import Any

import pytest
import yaml

from tests.harness.places import ROOT

SCRIPT = ".ci/audit_dependencies.py"
AUDIT: dict[str, Any] = runpy.run_path(str(ROOT / SCRIPT))
verdict: Callable[[list[str], set[tuple[str, str]]], tuple[int, list[str]]] = AUDIT["verdict"]
VULNERABLE, NOT_AUDITED = 1, 3

FINE = {"name": "numpy", "version": "2.0", "vulns": []}
OTHER = {"name": "numpy", "version": "2.1", "vulns": []}
BAD = {"name": "old", "version": "1.0", "vulns": [{"id": "PYSEC-1", "fix_versions": ["1.1"], "aliases": []}]}
UNKNOWN = {"name": "old", "skip_reason": "Dependency not found on PyPI"}


def answer(*found: dict[str, Any]) -> str:
    return json.dumps({"dependencies": found, "fixes": []})


@pytest.mark.parametrize(
    ("found", "asked", "code", "said"),
    [
        ([answer(FINE)], {("numpy", "2.0")}, 0, "1 of 1 audited, 0 advisories"),
        ([answer(FINE), answer(OTHER)], {("numpy", "2.0"), ("numpy", "2.1")}, 0, "2 of 2 audited"),
        ([answer(FINE, BAD)], {("numpy", "2.0"), ("old", "1.0")}, VULNERABLE, "old 1.0: PYSEC-1, mended in 1.1"),
        ([answer(BAD)], {("numpy", "2.0"), ("old", "1.0")}, VULNERABLE, "NOT AUDITED: numpy 2.0"),
        ([answer(FINE, UNKNOWN)], {("numpy", "2.0"), ("old", "1.0")}, NOT_AUDITED, "NOT AUDITED: old 1.0"),
        ([answer(FINE)], {("numpy", "2.0"), ("numpy", "2.1")}, NOT_AUDITED, "NOT AUDITED: numpy 2.1"),
        ([answer()], set(), NOT_AUDITED, "nothing was named"),
    ],
)
def test_it_passes_only_if_every_package_was_asked_about(
    found: list[str], asked: set[tuple[str, str]], code: int, said: str
) -> None:
    returned, lines = verdict(found, asked)
    assert returned == code
    assert any(said in line for line in lines)


@pytest.mark.parametrize("returned", [[], [""], ["Traceback ..."], ["[]"], ["{}"]])
def test_an_audit_that_audited_nothing_fails(returned: list[str]) -> None:
    code, lines = verdict(returned, {("numpy", "2.0")})
    assert (code, lines[0]) == (NOT_AUDITED, "dependencies: 0 of 1 audited, 0 advisories")


def test_it_asks_about_every_version_of_every_lock_file() -> None:
    asked = AUDIT["pinned"]()
    lines = [line for file in (ROOT / "locks").glob("*.txt") for line in file.read_text("utf-8").splitlines()]
    assert {f"{name}=={version}" for name, version in asked} == {line.split()[0] for line in lines if "==" in line}
    files = AUDIT["one_version_each"](asked)
    assert sorted(line for text in files for line in text.splitlines()) == sorted(f"{n}=={v}" for n, v in asked)
    for text in files:
        names = [line.partition("==")[0] for line in text.splitlines()]
        assert len(names) == len(set(names))


@pytest.mark.parametrize("name", ["release", "scheduled"])
def test_where_the_database_is_in_reach_nothing_excuses_it(name: str) -> None:
    workflow = yaml.safe_load((ROOT / ".github/workflows" / f"{name}.yml").read_text(encoding="utf-8"))
    steps = [step for job in workflow["jobs"].values() for step in job["steps"]]
    (step,) = [step for step in steps if SCRIPT in step.get("run", "")]
    assert step["run"] == f"python3 {SCRIPT}"
    assert "continue-on-error" not in step
