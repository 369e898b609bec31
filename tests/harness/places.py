"""Where the repository is, and the tables for development beside it."""

from pathlib import Path

ROOT = Path(__file__).parents[2]

# Outside the repository: tests that need it skip where it is not.
SHARED_DATA = ROOT.parent / "shared" / "data"
