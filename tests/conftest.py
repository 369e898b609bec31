"""For all tests."""

import importlib.util
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from hypothesis import settings

# pytest keeps the repository's root off its path. There our packages would have a second name; these tests are of the
# benchmarks too.
_benchmarks = importlib.util.spec_from_file_location("benchmarks", Path(__file__).parents[1] / "benchmarks/__init__.py")
assert _benchmarks is not None
sys.modules["benchmarks"] = importlib.util.module_from_spec(_benchmarks)

# How long an example takes is a matter of the machine and of what else it does.
settings.register_profile("privity", deadline=None)
settings.load_profile("privity")


@pytest.fixture
def importable_by_children(monkeypatch: pytest.MonkeyPatch) -> None:
    """Spawned processes find functions of tests and benchmarks."""
    monkeypatch.setattr(sys, "path", [*sys.path, str(Path(__file__).parents[1])])


@pytest.fixture(scope="session", autouse=True)
def state_home(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """A home for the ledgers of this account, and of every process that tests start: never that of who runs them."""
    with _state_home(tmp_path_factory) as place:
        yield place


@pytest.fixture(scope="module", autouse=True)
def state_home_of_file(state_home: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """One for each file of tests: what one declares is unknown to the others."""
    with _state_home(tmp_path_factory) as place:
        yield place


@contextmanager
def _state_home(factory: pytest.TempPathFactory) -> Iterator[Path]:
    place = factory.mktemp("state-home")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("XDG_STATE_HOME", str(place))
        yield place
