"""A virtual environment for each peer, made once and used again."""

from __future__ import annotations

import subprocess
import sys
from dataclasses import dataclass, field
from pathlib import Path

INSTALL_SECONDS = 900


@dataclass(frozen=True)
class Environment:
    """What pip installs: each tuple is one call.

    Attributes:
        fallback: calls instead, if the first ones fail; the report says so.
    """

    name: str
    pip: tuple[tuple[str, ...], ...]
    fallback: tuple[tuple[str, ...], ...] = ()


@dataclass
class Installed:
    """An environment that was made, or why it was not."""

    python: Path | None = None
    errors: list[str] = field(default_factory=list)


BINARY = ("--only-binary", ":all:")
ENVIRONMENTS = {
    "dpart": Environment(
        "dpart",
        pip=((*BINARY, "dpart==0.1.2"),),
        # Its pins (numpy 1.22.3, pandas 1.4.2, scikit-learn 1.0.2) have no wheels for today's interpreters.
        fallback=(
            (*BINARY, "numpy==1.23.5", "pandas==1.5.3", "scikit-learn==1.2.2", "joblib", "setuptools<81"),
            ("--no-deps", "diffprivlib==0.6.0", "dpart==0.1.2"),
        ),
    ),
    "data-synthesizer": Environment("data-synthesizer", pip=((*BINARY, "DataSynthesizer==0.1.13"),)),
    "dpmm": Environment("dpmm", pip=((*BINARY, "dpmm==0.1.9"),)),
    "opendp": Environment("opendp", pip=((*BINARY, "opendp[mbi]==0.16.0"),)),
    "private-pgm": Environment("private-pgm", pip=((*BINARY, "private-pgm"),)),
    # A parser's runtime that it needs is there as source only, in Python throughout.
    "smartnoise": Environment(
        "smartnoise",
        pip=((*BINARY, "--no-binary", "antlr4-python3-runtime", "smartnoise-synth==1.0.8", "mbi==1.1.0"),),
    ),
}


def last_line(text: str) -> str:
    """The last line that says something."""
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    return lines[-1] if lines else "no output"


def install(environment: Environment, folder: Path) -> Installed:
    """Make the environment in ``folder``, or take the one that a call before left there complete."""
    home = folder / environment.name
    python = home / "bin" / "python"
    ready, failed = home / "complete", home / "failed"
    if not ready.exists():
        subprocess.run([sys.executable, "-m", "venv", str(home)], check=True)
        error = _pip(python, environment.pip)
        if error:
            failed.write_text(error)
            fallen = _pip(python, environment.fallback) if environment.fallback else error
            if fallen:
                return Installed(None, list(dict.fromkeys([error, fallen])))
        ready.touch()
    return Installed(python, [failed.read_text()] if failed.exists() else [])


def _pip(python: Path, calls: tuple[tuple[str, ...], ...]) -> str:
    """The last line of the first call's error that fails; empty if none does."""
    for arguments in calls:
        command = [str(python), "-m", "pip", "install", "--quiet", "--disable-pip-version-check", *arguments]
        try:
            done = subprocess.run(command, capture_output=True, text=True, timeout=INSTALL_SECONDS, check=False)
        except subprocess.TimeoutExpired:
            return f"pip did not finish within {INSTALL_SECONDS} s"
        if done.returncode:
            return last_line(done.stderr)
    return ""
