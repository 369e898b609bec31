"""Ask the database of advisories about every package that is installed for a node or a release, by the files of locks/.

    python3 .ci/audit_dependencies.py

Exit code 0: each was asked about, and none has a known vulnerability. 1: one has. 3: not each could be asked about.
pip-audit has a venv of its own, from locks/audit.txt.
"""

from __future__ import annotations

import json
import re
import subprocess
import sys
import tempfile
from collections.abc import Iterable
from pathlib import Path
from typing import Any

LOCKS = Path(__file__).resolve().parents[1] / "locks"
PINNED = re.compile(r"^([a-z0-9-]+)==([^\s;\\]+)", re.MULTILINE)
"""A line of a lock file, without the marker: what is installed on another Python or system is asked about too."""

OPTIONS = ("--disable-pip", "--no-deps", "--format", "json", "--progress-spinner", "off")
TIMEOUT_SECONDS = 300
VULNERABLE, NOT_AUDITED = 1, 3


def pinned(folder: Path = LOCKS) -> set[tuple[str, str]]:
    """(name, version) of every package that a lock file names."""
    return {found for file in sorted(folder.glob("*.txt")) for found in PINNED.findall(file.read_text("utf-8"))}


def answers_of(text: str) -> list[dict[str, Any]]:
    """What pip-audit says of each package; nothing, where it did not get so far."""
    try:
        return json.loads(text)["dependencies"]
    except (ValueError, TypeError, KeyError):
        return []


def verdict(returned: Iterable[str], asked: set[tuple[str, str]]) -> tuple[int, list[str]]:
    """Exit code, and lines for people.

    Args:
        returned: what pip-audit wrote of each file, as JSON; something else, if it could not ask at all.
        asked: the packages that the files named.
    """
    answers = [answer for text in returned for answer in answers_of(text)]
    audited = {(answer["name"], answer["version"]) for answer in answers if "vulns" in answer}
    found = [
        f"vulnerable: {answer['name']} {answer['version']}: {entry['id']}, mended in"
        f" {', '.join(entry['fix_versions']) or 'no version yet'}"
        for answer in answers
        for entry in answer.get("vulns", [])
    ]
    lines = [*found, f"dependencies: {len(asked & audited)} of {len(asked)} audited, {len(found)} advisories"]
    unknown = asked - audited
    if unknown or not asked:
        names = ", ".join(f"{name} {version}" for name, version in sorted(unknown)[:3])
        lines.append(f"NOT AUDITED: {names or 'nothing was named'}{' and others' if len(unknown) > 3 else ''}")
    return VULNERABLE if found else NOT_AUDITED if unknown or not asked else 0, lines


def one_version_each(asked: Iterable[tuple[str, str]]) -> list[str]:
    """The packages as files for pip-audit, which takes one version of a package at a time."""
    files: list[dict[str, str]] = []
    for name, version in sorted(asked):
        place = next((file for file in files if name not in file), None)
        if place is None:
            files.append(place := {})
        place[name] = version
    return ["".join(f"{name}=={version}\n" for name, version in file.items()) for file in files]


def run(*command: str | Path) -> subprocess.CompletedProcess[str]:
    """A program to its end, with what it printed."""
    return subprocess.run(command, capture_output=True, text=True, timeout=TIMEOUT_SECONDS)  # noqa: S603 - no shell


def main() -> int:
    """Audit what is pinned."""
    asked = pinned()
    returned: list[str] = []
    with tempfile.TemporaryDirectory() as name:
        own, file = Path(name) / "venv/bin", Path(name) / "packages.txt"
        try:
            run(sys.executable, "-m", "venv", own.parent).check_returncode()
            run(own / "pip", "install", "--quiet", "--require-hashes", "-r", LOCKS / "audit.txt").check_returncode()
            for text in one_version_each(asked):
                file.write_text(text, encoding="utf-8")
                returned.append(run(own / "pip-audit", *OPTIONS, "--requirement", file).stdout)
        except (subprocess.SubprocessError, OSError) as error:
            print(f"pip-audit did not run: {type(error).__name__}")
    code, lines = verdict(returned, asked)
    print("\n".join(lines))
    return code


if __name__ == "__main__":
    sys.exit(main())
