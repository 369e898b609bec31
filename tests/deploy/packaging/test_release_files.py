"""What a release is made with: exact versions of all dependencies, a citation, a workflow that keeps no secret."""

from __future__ import annotations

import re
import tomllib

import pytest
import yaml
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

from tests.harness.places import ROOT

PYPROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
PROJECT, GROUPS = PYPROJECT["project"], PYPROJECT["dependency-groups"]
FOR_USERS = ("containers", "evaluation", "ibis", "jtree", "postgresql")


def locked(name: str) -> list[Requirement]:
    """What a file of locks/ names, each with its hashes; wheels only, as nothing pins what builds another thing."""
    options, *entries = re.split(r"\n(?=\S)", (ROOT / "locks" / f"{name}.txt").read_text(encoding="utf-8").strip())
    assert options.strip() == "--only-binary :all:"
    found = []
    for entry in entries:
        requirement, *hashes = entry.split(" \\\n    ")
        assert hashes, requirement
        assert all(re.fullmatch(r"--hash=sha256:[0-9a-f]{64}", text) for text in hashes), requirement
        found.append(Requirement(requirement))
        assert [specifier.operator for specifier in found[-1].specifier] == ["=="], requirement
    return found


def wanted_by(part: str) -> list[str]:
    """What pyproject.toml asks for: of the project itself, of an extra, or of a group and of those that it includes."""
    if part == "project":
        return PROJECT["dependencies"]
    if part in PROJECT["optional-dependencies"]:
        return PROJECT["optional-dependencies"][part]
    items = GROUPS[part]
    return [text for item in items for text in ([item] if isinstance(item, str) else wanted_by(item["include-group"]))]


@pytest.mark.parametrize(
    ("name", "parts"),
    [
        ("node", ("project", "backend")),
        ("all", ("project", "backend", *FOR_USERS)),
        ("build", ("build",)),
        ("release", ("release",)),
        ("audit", ("audit",)),
    ],
)
def test_the_exact_versions_are_such_as_the_project_asks_for(name: str, parts: tuple[str, ...]) -> None:
    """``make locks`` makes them anew."""
    exact = locked(name)
    wanted = [item for part in parts for item in wanted_by(part)]
    assert wanted
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


def test_what_builds_and_what_a_node_runs_with_is_one_version_wherever_it_is_installed() -> None:
    everything = {(one.name, str(one.specifier)) for one in locked("all")}
    assert {(one.name, str(one.specifier)) for one in locked("node")} <= everything
    assert {one for one in locked("build") if one.name == "setuptools"} <= set(locked("node"))


def test_the_backend_that_builds_a_node_is_the_one_that_the_project_names() -> None:
    (backend,) = GROUPS["backend"]
    assert PYPROJECT["build-system"]["requires"] == [backend]


def test_the_citation_is_of_this_version() -> None:
    citation = yaml.safe_load((ROOT / "CITATION.cff").read_text(encoding="utf-8"))
    assert (citation["version"], citation["license"]) == (PROJECT["version"], PROJECT["license"])


def test_the_release_workflow_keeps_no_secret_and_publishes_last() -> None:
    text = (ROOT / ".github/workflows/release.yml").read_text(encoding="utf-8")
    assert "secrets." not in text
    assert "password" not in text
    jobs = yaml.safe_load(text)["jobs"]
    assert {name: job.get("needs") for name, job in jobs.items()} == {
        "build": None,
        "check": "build",
        "try": "build",
        "attest": ["build", "check", "try"],
        "publish": ["build", "attest"],
    }
    assert {name: {of for of, how in job["permissions"].items() if how == "write"} for name, job in jobs.items()} == {
        "build": set(),
        "check": set(),
        "try": set(),
        "attest": {"id-token", "attestations"},
        "publish": {"id-token"},
    }


def test_what_is_attested_and_published_is_what_was_built_by_its_sums() -> None:
    jobs = yaml.safe_load((ROOT / ".github/workflows/release.yml").read_text(encoding="utf-8"))["jobs"]
    built = jobs["build"]["steps"]
    assert jobs["build"]["outputs"] == {"sums": "${{ steps.built.outputs.sums }}"}
    making = [step for step in built if "run" in step]
    assert [step["run"].splitlines()[0] for step in making][-2] == "make dist PYTHON=python3"
    assert making[-1]["id"] == "built"
    assert "(cd dist && shasum -a 256 *)" in making[-1]["run"], "the sums, right after the build"
    sums = {"SUMS": "${{ needs.build.outputs.sums }}"}
    for name in ("check", "try", "publish"):
        steps = jobs[name]["steps"]
        (at,) = [n for n, step in enumerate(steps) if step.get("with", {}).get("name") == "dist"]
        assert steps[at + 1]["run"] == 'cd dist && test "$(shasum -a 256 *)" = "$SUMS"', name
        assert steps[at + 1]["env"] == sums
        assert not [step for step in steps[:at] if "dist/" in step.get("run", "")], "nothing touches them before"
        assert not [step for step in steps if "make dist" in step.get("run", "")], "built once"
    described, compared, *attested = jobs["attest"]["steps"]
    assert described["with"] == {"name": "sbom"}
    assert compared["env"] == {"SBOM": "${{ needs.check.outputs.sbom }}", **sums}
    assert compared["run"].splitlines() == [
        'test "$(shasum -a 256 privity.cdx.json)" = "$SBOM"', "printf '%s\\n' \"$SUMS\" > SHA256SUMS"
    ]  # fmt: skip
    assert [step["with"] for step in attested] == [
        {"subject-checksums": "SHA256SUMS"},
        {"subject-checksums": "SHA256SUMS", "sbom-path": "privity.cdx.json"},
    ]


def test_everything_runs_once_a_week_without_a_secret() -> None:
    text = (ROOT / ".github/workflows/scheduled.yml").read_text(encoding="utf-8")
    assert "secrets." not in text
    workflow = yaml.safe_load(text)
    assert workflow["permissions"] == {}
    assert [job["permissions"] for job in workflow["jobs"].values()] == [{"contents": "read"}] * 2
    commands = [step["run"] for step in workflow["jobs"]["everything"]["steps"] if "run" in step]
    assert commands[-2:] == ["make test-long", ".venv/bin/privity audit"]
    assert "tests/debian-packages.txt" in commands[0]
