"""For all tests: a state home of their own, a schema with every kind of attribute, the tables for development."""

import gc
import importlib.util
import multiprocessing
import re
import sys
from collections.abc import Callable, Generator, Iterator, Sequence
from contextlib import contextmanager
from multiprocessing.context import BaseContext
from pathlib import Path

import numpy as np
import pytest
from hypothesis import settings

from privity.common.data.coded_table import CodedTable
from privity.common.data.schema import Schema, parse_schema
from tests.harness.places import ROOT, SHARED_DATA

# pytest keeps the repository's root off its path. There our packages would have a second name; these tests are of the
# benchmarks and of the site too.
for _name in ("benchmarks", "docs"):
    _spec = importlib.util.spec_from_file_location(_name, ROOT / _name / "__init__.py")
    assert _spec is not None
    sys.modules[_name] = importlib.util.module_from_spec(_spec)

# How long an example takes is a matter of the machine and of what else it does.
EXAMPLES = {"quick": 10, "privity": 10, "thorough": 200}
"""Of each property: in ``make check``, in ``make test``, in ``make test-long``."""

for profile, examples in EXAMPLES.items():
    settings.register_profile(profile, deadline=None, max_examples=examples)
settings.load_profile("privity")

OTHER_KINDS = ("external", "process", "statistical", "long")
"""Marks of tests that are no unit tests; the slowest kinds first."""

STARTS = ("subprocess.Popen", "os.fork", "os.forkpty", "os.posix_spawn", "os.exec", "os.system", "socket.bind")
ASKED_BY_LIBRARIES = ("fc-list", "lscpu")
"""Programs by which matplotlib and joblib look at the machine, when they are loaded."""
_unit_at_work = False


def pytest_ignore_collect(collection_path: Path, config: pytest.Config) -> bool | None:
    """For ``-m unit``, a file that is of another kind as a whole is not even loaded: that would take seconds."""
    if config.option.markexpr != "unit" or collection_path.suffix != ".py":
        return None
    text = collection_path.read_text(encoding="utf-8")
    return re.search(rf"^pytestmark = .*\bmark\.({'|'.join(OTHER_KINDS)})$", text, re.MULTILINE) is not None or None


@pytest.hookimpl(wrapper=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> Generator[None, None, None]:
    """A test without another mark is a ``unit`` test. Files of the slowest kinds come first, those of many tests first.

    Workers take files in this order: none is left with a long one at the end.
    """
    for item in items:
        if not any(item.get_closest_marker(kind) for kind in OTHER_KINDS):
            item.add_marker("unit")
    yield  # what the command line leaves out is gone
    files: dict[Path, list[pytest.Item]] = {}
    for item in items:
        files.setdefault(item.path, []).append(item)

    def weight(path: Path) -> tuple[int, int]:
        kinds = (place for place, kind in enumerate(OTHER_KINDS) if any(map(has(kind), files[path])))
        return next(kinds, len(OTHER_KINDS)), -len(files[path])

    def has(kind: str) -> Callable[[pytest.Item], bool]:
        return lambda item: item.get_closest_marker(kind) is not None

    items[:] = [item for path in sorted(files, key=weight) for item in files[path]]


@pytest.hookimpl(wrapper=True)
def pytest_collection() -> Generator[None, object, object]:
    """What is loaded by now stays: the collector looks at it neither meanwhile nor after every test."""
    gc.disable()
    try:
        return (yield)
    finally:
        gc.enable()
        gc.freeze()


@pytest.hookimpl(wrapper=True)
def pytest_runtest_protocol(item: pytest.Item) -> Generator[None, object, object]:
    global _unit_at_work
    _unit_at_work = item.get_closest_marker("unit") is not None
    try:
        return (yield)
    finally:
        _unit_at_work = False


def _refuse_to_start(event: str, arguments: tuple[object, ...]) -> None:
    if _unit_at_work and event in STARTS and not (arguments and Path(str(arguments[0])).name in ASKED_BY_LIBRARIES):
        raise AssertionError(f"a unit test may not do {event}: mark it process, or external")


sys.addaudithook(_refuse_to_start)


@pytest.fixture
def importable_by_children(monkeypatch: pytest.MonkeyPatch) -> None:
    """Spawned processes find functions of tests and benchmarks."""
    monkeypatch.setattr(sys, "path", [*sys.path, str(ROOT)])


@pytest.fixture
def processes(importable_by_children: None) -> BaseContext:
    """What starts a test's own processes: forks of one, once a worker, that has loaded what they need."""
    context = multiprocessing.get_context("forkserver")
    context.set_forkserver_preload(
        ["pytest", "hypothesis", "privity.common.privacy.ledger_folder", "tests.harness.ledgers"]
    )
    return context


@pytest.fixture(scope="session", autouse=True)
def state_home(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """A home for the ledgers of this account, and of every process that tests start: never that of who runs them."""
    with _state_home(tmp_path_factory) as place, pytest.MonkeyPatch.context() as patch:
        # Ledgers are looked for below the home folder, too.
        patch.setenv("HOME", str(place))
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


@pytest.fixture
def shared_data() -> Path:
    """The folder of the data sets for development, which lies outside the repository."""
    if not SHARED_DATA.is_dir():
        pytest.skip("the folder shared/data is not beside the repository")
    return SHARED_DATA


@pytest.fixture
def schema_document() -> dict:
    """A schema with an attribute of every kind."""
    return {
        "name": "people",
        "fields": [
            {"name": "age", "type": "integer", "constraints": {"minimum": 17, "maximum": 90}, "bins": 16},
            {
                "name": "work",
                "type": "string",
                "categories": ["a", "b", "c", "d"],
                "taxonomy": {"ab": ["a", "b"], "rest": {"c": ["c"], "d": ["d"]}},
            },
            {"name": "gain", "type": "integer", "edges": [0, 1, 500, 10000], "outOfDomain": "edge"},
            {
                "name": "weight",
                "type": "number",
                "constraints": {"minimum": 0.1, "maximum": 2},
                "bins": 3,
                "missingValues": ["", "NA"],
            },
            {"name": "member", "type": "boolean"},
            {"name": "size", "type": "number", "categories": [0.5, 1, 2.25], "outOfDomain": "other", "other": 1},
            {"name": "grade", "type": "integer", "categories": [3, 1, 2], "categoriesOrdered": True},
        ],
    }


@pytest.fixture
def people(schema_document: dict) -> Schema:
    return parse_schema(schema_document, "people.json")


@pytest.fixture(scope="session")
def make_table() -> Callable[..., CodedTable]:
    """A function (domain, rows, seed) that gives a table of uniform codes over the domain."""

    def make(domain: Sequence[int], rows: int, seed: int = 0) -> CodedTable:
        fields = [
            {"name": f"x{place}", "type": "integer", "edges": list(range(size + 1))}
            for place, size in enumerate(domain)
        ]
        generator = np.random.default_rng(seed)
        columns = tuple(generator.integers(0, size, rows) for size in domain)
        return CodedTable(parse_schema({"fields": fields}, "random"), columns)

    return make
