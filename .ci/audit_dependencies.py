"""Ask the database of advisories about every package that the tests ran with.

    python3 .ci/audit_dependencies.py .venv

A known vulnerability fails; a database that cannot be reached, or does not know a package, is reported and does not.
pip-audit has a venv of its own, so that what it needs is no part of what Privity runs with.
"""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

TIMEOUT_SECONDS = 300


def verdict(returned: str) -> tuple[int, list[str]]:
    """Exit code and lines for people, of what pip-audit returned as JSON; of nothing, if it could not ask."""
    try:
        dependencies: list[dict[str, Any]] = json.loads(returned)["dependencies"]
    except ValueError:
        return 0, ["dependencies not audited: the database of advisories could not be reached"]
    lines = [
        f"vulnerable: {found['name']} {found['version']}: {entry['id']}, mended in"
        f" {', '.join(entry['fix_versions']) or 'no version yet'}"
        for found in dependencies
        for entry in found.get("vulns", [])
    ]
    skipped = [found["name"] for found in dependencies if "skip_reason" in found]
    asked = len(dependencies) - len(skipped)
    told = [f"dependencies: {asked} audited, {len(lines)} advisories"]
    if skipped:
        told.append(f"dependencies not audited, the database does not know them here: {len(skipped)}")
    return int(bool(lines)), [*lines, *told]


def run(*command: str | Path) -> subprocess.CompletedProcess[str]:
    """A program to its end, with what it printed."""
    return subprocess.run(command, capture_output=True, text=True, timeout=TIMEOUT_SECONDS)  # noqa: S603 - no shell


def main(venv: Path) -> int:
    """Audit the packages of a venv."""
    (packages,) = venv.glob("lib/python*/site-packages")
    with tempfile.TemporaryDirectory() as place:
        own = Path(place) / "venv"
        try:
            run(sys.executable, "-m", "venv", own).check_returncode()
            run(own / "bin/pip", "install", "--quiet", "pip-audit").check_returncode()
            asked = run(own / "bin/pip-audit", "--path", packages, "--format", "json", "--progress-spinner", "off")
        except (subprocess.SubprocessError, OSError) as error:
            print(f"dependencies not audited: {type(error).__name__}")
            return 0
    code, lines = verdict(asked.stdout)
    print("\n".join(lines))
    return code


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1])))
