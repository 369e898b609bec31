"""What a release is made with: exact versions of all dependencies, a citation, a workflow that keeps no secret."""

from __future__ import annotations

import tomllib

import yaml
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

from tests.harness.places import ROOT

PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
FOR_USERS = ("containers", "evaluation", "ibis", "jtree", "postgresql")


def test_the_exact_versions_are_such_as_the_project_asks_for() -> None:
    """``make constraints`` makes them anew."""
    lines = (ROOT / "constraints.txt").read_text(encoding="utf-8").splitlines()
    exact = [Requirement(line) for line in lines]
    wanted = [
        *PROJECT["dependencies"],
        *(item for extra in FOR_USERS for item in PROJECT["optional-dependencies"][extra]),
    ]
    for one in map(Requirement, wanted):
        versions = [
            specifier.version
            for line in exact
            if canonicalize_name(line.name) == canonicalize_name(one.name)
            for specifier in line.specifier
            if specifier.operator == "=="
        ]
        assert versions, one.name
        assert all(one.specifier.contains(version) for version in versions), one.name


def test_the_citation_is_of_this_version() -> None:
    citation = yaml.safe_load((ROOT / "CITATION.cff").read_text(encoding="utf-8"))
    assert (citation["version"], citation["license"]) == (PROJECT["version"], PROJECT["license"])


def test_the_release_workflow_keeps_no_secret_and_publishes_last() -> None:
    text = (ROOT / ".github/workflows/release.yml").read_text(encoding="utf-8")
    assert "secrets." not in text
    assert "password" not in text
    jobs = yaml.safe_load(text)["jobs"]
    assert {name: job.get("needs") for name, job in jobs.items()} == {"build": None, "try": "build", "publish": "try"}
    assert jobs["publish"]["permissions"] == {"id-token": "write"}


def test_everything_runs_once_a_week_without_a_secret() -> None:
    text = (ROOT / ".github/workflows/scheduled.yml").read_text(encoding="utf-8")
    assert "secrets." not in text
    workflow = yaml.safe_load(text)
    (job,) = workflow["jobs"].values()
    assert (workflow["permissions"], job["permissions"]) == ({}, {"contents": "read"})
    commands = [step["run"] for step in job["steps"] if "run" in step]
    assert commands[-2:] == ["make test-long", ".venv/bin/privity audit"]
    assert "tests/debian-packages.txt" in commands[0]
