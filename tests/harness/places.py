"""Where the repository is, and the tables for development beside it."""

from pathlib import Path

ROOT = Path(__file__).parents[2]

NODES = ("common", "party", "curator")
"""The folders that nodes are made of."""

PACKAGES = (*NODES, "deploy", "assessment", "interfaces")
"""The folders at the top that ``src/privity`` links to."""


def sources(*names: str) -> list[Path]:
    """The Python files that we wrote in folders; in all of them, and in ``src/privity`` itself, without names."""
    files = [p for name in names or PACKAGES for p in (ROOT / name).rglob("*.py") if "wire/v1" not in p.as_posix()]
    return files if names else [*files, *(ROOT / "src" / "privity").glob("*.py")]


# Outside the repository: tests that need it skip where it is not.
SHARED_DATA = ROOT.parent / "shared" / "data"
