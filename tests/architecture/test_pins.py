"""Whatever is installed for a node or a release is pinned: images by digest, packages by hash, actions by commit."""

from __future__ import annotations

import re
import subprocess
from collections.abc import Iterator
from typing import Any

import pytest
import yaml

from tests.harness.places import ROOT

PACKAGING = ROOT / "deploy" / "packaging"
WORKFLOWS = sorted((ROOT / ".github" / "workflows").glob("*.yml"))
DIGEST = re.compile(r"[^\s@]+@sha256:[0-9a-f]{64}")
ACTION = re.compile(r"[\w.-]+/[\w./-]+@[0-9a-f]{40} # v\d+\.\d+\.\d+")

INSTALLS = re.compile(r"\b(pip3?|uv|pipx|conda|npm|gem|cargo|go|brew) (\S+ )*?(install|add|run|tool)\b|\b(uvx|npx)\b")
FETCHES = re.compile(r"\b(curl|wget|git clone|docker pull|docker run (?!.*--pull never)|ADD https?:)")
EXACT = re.compile(r"\d+\.\d+\.\d+")

NOT_OF_A_RELEASE = ("make test-long", "apt-get")
"""Installed for tests, in a workflow that may write nothing: the newest packages, which is what the tests are for."""


def unpinned_commands(script: str) -> list[str]:
    """Commands of a shell script that install what no hash names."""
    lines = [line.strip() for line in re.split(r"\n|&&|\|\||;", script.replace("\\\n", " "))]
    return [line for line in lines if FETCHES.search(line) or (INSTALLS.search(line) and not by_hash(line))]


def by_hash(command: str) -> bool:
    words = command.split()
    from_locks = "--require-hashes" in words and re.search(r"-r \S*(locks/|\b)\w+\.txt\"?$", command) is not None
    return from_locks or {"--no-index", "--no-deps"} <= set(words)


def unpinned_steps(dockerfile: str) -> list[str]:
    """Instructions of a Dockerfile that take an image by a tag, or install by no hash."""
    text = "\n".join(line for line in dockerfile.splitlines() if not line.startswith("#")).replace("\\\n", " ")
    found, images, stages = [], {}, set()
    for line in filter(None, map(str.strip, text.splitlines())):
        name, _, rest = line.partition(" ")
        if name == "ARG":
            key, _, value = rest.partition("=")
            images[f"${{{key}}}"] = value
        elif name == "FROM":
            image, *named = rest.split()
            if image not in stages and not DIGEST.fullmatch(images.get(image, image)):
                found.append(line)
            stages |= set(named[1:])
        elif name == "COPY" and (source := re.match(r"--from=(\S+)", rest)) and source[1] not in stages:
            found += [] if DIGEST.fullmatch(source[1]) else [line]
        elif name in ("RUN", "ADD"):
            found += unpinned_commands(line)
    return found


def unpinned_parts(workflow: str) -> list[str]:
    """Actions, machines, versions and commands of a workflow that may be others tomorrow."""
    uses = re.findall(r"^\s*-?\s*uses:\s*(.+)$", workflow, re.MULTILINE)
    found = [name for name in uses if not ACTION.fullmatch(name.strip())]
    read = yaml.load(workflow, getattr(yaml, "CSafeLoader", yaml.SafeLoader))
    usual = read.get("permissions", {"everything": "write"})
    may_write = any("write" in job.get("permissions", usual).values() for job in read["jobs"].values())
    for job in read["jobs"].values():
        entries = job.get("strategy", {}).get("matrix", {}).get("include", [{}])
        found += [machine for entry in entries for machine in [filled(job["runs-on"], entry)] if "latest" in machine]
        if "container" in job or "services" in job:
            found.append("a container of its own")
        for step in job["steps"]:
            versions = [filled(str(value), e) for key, value in step.get("with", {}).items() for e in entries
                        if key.endswith("-version")]  # fmt: skip
            found += [version for version in versions if not EXACT.fullmatch(version)]
            if may_write or not any(words in step.get("run", "") for words in NOT_OF_A_RELEASE):
                found += unpinned_commands(step.get("run", ""))
            found += [words for words in NOT_OF_A_RELEASE if may_write and words in step.get("run", "")]
    return found


def filled(text: str, entry: dict[str, str]) -> str:
    return re.sub(r"\$\{\{ matrix\.(\w+) \}\}", lambda found: entry[found[1]], text)


def test_the_image_is_built_from_a_digest_and_from_hashes_alone() -> None:
    assert unpinned_steps((PACKAGING / "Dockerfile").read_text(encoding="utf-8")) == []


@pytest.mark.parametrize(
    "step",
    [
        "FROM python:3.11-slim",
        "ARG BASE=python:3.11\nFROM ${BASE}",
        "COPY --from=ghcr.io/astral-sh/uv:latest /uv /bin/",
        "RUN pip install .",
        "RUN pip install --require-hashes -r locks/node.txt && pip install privity",
        "RUN apt-get update && \\\n  curl https://example.org/install.sh | sh",
        "ADD https://example.org/privity.tar.gz /",
    ],
)
def test_a_dockerfile_with_something_unpinned_is_found(step: str) -> None:
    assert unpinned_steps(f"FROM python@sha256:{'0' * 64} AS build\n{step}")


def images(document: Any) -> Iterator[str]:
    """Every value of a key ``image`` below."""
    if isinstance(document, dict):
        for key, value in document.items():
            yield from [value] if key == "image" and isinstance(value, str) else images(value)
    elif isinstance(document, list):
        for value in document:
            yield from images(value)


def test_compose_starts_what_is_built_here_or_an_image_by_its_digest() -> None:
    services = yaml.safe_load((PACKAGING / "compose.yaml").read_text(encoding="utf-8"))["services"]
    for name, service in services.items():
        here = service.get("build", {}).get("dockerfile") == "deploy/packaging/Dockerfile"
        assert (here and service["pull_policy"] == "never") or DIGEST.fullmatch(service["image"]), name


def test_no_other_file_of_a_deployment_names_an_image_by_a_tag() -> None:
    """What the chart renders to: ``tests/deploy/packaging/test_helm_chart.py``."""
    templates = sorted((PACKAGING / "helm").rglob("templates/*"))
    lines = [line for file in templates for line in re.findall(r"^\s*image:.*$", file.read_text("utf-8"), re.MULTILINE)]
    assert {line.split(":", 1)[1].strip() for line in lines} == {'{{ include "privity.image" . }}'}
    files = [*PACKAGING.glob("*/*.y*ml"), *PACKAGING.glob("*.y*ml"), *(ROOT / "docs").rglob("*.y*ml")]
    found = [name for file in files if file.name != "compose.yaml" for name in images(yaml.safe_load(file.read_text()))]
    assert [name for name in found if not DIGEST.fullmatch(name)] == []


@pytest.mark.parametrize("workflow", WORKFLOWS, ids=lambda path: path.stem)
def test_a_workflow_names_actions_by_commit_and_tools_by_hash(workflow: Any) -> None:
    assert unpinned_parts(workflow.read_text(encoding="utf-8")) == []


@pytest.mark.parametrize(
    ("old", "new"),
    [
        (r"@[0-9a-f]{40} # (v\d+)\S*", r"@\1"),
        (r"(@[0-9a-f]{40}) # v\S+", r"\1"),
        ("ubuntu-24.04", "ubuntu-latest"),
        ('"3.13.15"', '"3.13"'),
        (r"--require-hashes -r locks/\w+.txt", "twine"),
        ("--no-index --no-deps", ""),
        ("shasum", "uvx shasum"),
        ("make dist", "make test-long"),
        ("make dist", "npm install left-pad; make dist"),
    ],
)
def test_a_workflow_with_something_unpinned_is_found(old: str, new: str) -> None:
    text = (ROOT / ".github/workflows/release.yml").read_text(encoding="utf-8")
    changed = re.sub(old, new, text)
    assert changed != text
    assert unpinned_parts(changed)


@pytest.mark.process
def test_what_make_runs_for_a_release_is_installed_by_hash() -> None:
    wanted = ["make", "--dry-run", "dist", "check-dist", "locks"]
    said = subprocess.run(wanted, cwd=ROOT, capture_output=True, text=True, check=True).stdout
    assert said.count("--require-hashes") == 4
    assert unpinned_commands(said) == []


@pytest.mark.parametrize("page", ["README.md", "docs/versions.md", "docs/deploy.md"])
def test_a_page_installs_a_node_by_hash(page: str) -> None:
    text = (ROOT / page).read_text(encoding="utf-8")
    assert "pip install" in text
    assert unpinned_commands(text) == []
