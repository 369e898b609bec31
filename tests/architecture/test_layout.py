"""The shape of the repository: our own packages, small files, one place for protobuf and gRPC."""

from __future__ import annotations

import ast
import re
import socket
import subprocess
import sys
from pathlib import Path

import grimp
import networkx as nx
import pytest

import privity.common
from tests.harness.places import PACKAGES, ROOT, sources

LONGEST_FILE = 450
SMALLEST_ROOM = 3
"""Files up to which a room needs no words."""


def imported(path: Path) -> set[str]:
    modules: set[str] = set()
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            modules |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module:
            modules.add(node.module)
    return modules


@pytest.mark.process
@pytest.mark.parametrize("line", ["import common.errors", "from party import agent"])
def test_a_bare_import_of_a_folder_fails_the_lint(line: str) -> None:
    lint = [
        sys.executable,
        "-m",
        "ruff",
        "check",
        "--output-format",
        "concise",
        "--stdin-filename",
        "deploy/new.py",
        "-",
    ]
    done = subprocess.run(lint, cwd=ROOT, input=f"{line}\n", text=True, capture_output=True, check=False)
    assert done.returncode == 1
    assert "TID251" in done.stdout


def test_our_packages_have_one_name() -> None:
    """Under a second name a module would be loaded twice, with two of every class."""
    assert Path(privity.common.__file__).resolve().parent == ROOT / "common"
    assert not set(PACKAGES) & set(sys.modules)


def test_tests_lie_where_what_they_test_lies() -> None:
    """A folder of tests has the name of a folder of code, but for those that belong to no one folder."""
    of_no_one_folder = {"architecture", "crash", "harness", "hostile", "vectors", "privity"}
    folders = {p.parent.relative_to(ROOT / "tests") for p in (ROOT / "tests").rglob("test_*.py")}
    assert len(folders) > 20
    assert not [f for f in folders if f.parts[0] not in of_no_one_folder and not (ROOT / f).is_dir()]


def test_a_unit_test_that_starts_a_process_or_listens_fails() -> None:
    with pytest.raises(AssertionError, match="mark it process"):
        subprocess.run(["true"], check=False)
    with socket.socket() as listener, pytest.raises(AssertionError, match="mark it process"):
        listener.bind(("127.0.0.1", 0))


def test_files_stay_small() -> None:
    too_long = {p.name: n for p in sources() if (n := len(p.read_text().splitlines())) > LONGEST_FILE}
    assert not too_long


def test_every_room_says_what_it_is_and_which_file_to_open_for_what() -> None:
    rooms = {
        init.parent: ast.get_docstring(ast.parse(init.read_text())) or ""
        for init in sources()
        if init.stem == "__init__"
    }
    large = {room: text for room, text in rooms.items() if len(list(room.glob("*.py"))) > SMALLEST_ROOM}
    assert len(large) > 20
    assert not {str(room): text for room, text in large.items() if not 5 <= len(text.splitlines()) <= 15}
    for room, text in large.items():
        named = re.findall(r"``([a-z0-9_*]+\.py)``", text)
        assert named, room
        assert not [name for name in named if not list(room.glob(name))], room


def test_neither_files_nor_rooms_lie_on_a_circle_of_imports() -> None:
    """Imports within functions, and those for type checkers alone, count like all others. A room is a folder."""
    graph = grimp.build_graph("privity", cache_dir=None)
    files = {(one, other) for one in graph.modules for other in graph.find_modules_directly_imported_by(one)}

    def room(module: str) -> str:
        return module if (ROOT / "src" / module.replace(".", "/")).is_dir() else module.rpartition(".")[0]

    rooms = {(room(one), room(other)) for one, other in files if room(one) != room(other)}
    assert len(rooms) > 100
    for arrows in (files, rooms):
        assert not [each for each in nx.strongly_connected_components(nx.DiGraph(arrows)) if len(each) > 1]


def test_only_the_edges_know_grpc_and_generated_types() -> None:
    edges = {
        "party/agent.py",
        "curator/health_and_reflection.py",
        "curator/grpc_services.py",
        "curator/server.py",
        "common/node/curator_trust.py",
        "curator/call_errors.py",
        "curator/connections.py",
        "deploy/operator/curator_link.py",
        "deploy/operator/operator_client.py",
        "deploy/operator/live_progress.py",
        "deploy/operator/run_status.py",
        "assessment/simulation/simulated_run.py",
    }
    for path in sources():
        name = path.relative_to(ROOT).as_posix()
        if name.startswith("common/wire/") or name in edges:
            continue
        libraries = ("grpc", "grpc_health", "grpc_reflection", "google")
        knows = {m for m in imported(path) if m.split(".")[0] in libraries or m.startswith("privity.common.wire.v1")}
        assert not knows, f"{name} imports {knows}"


def test_no_process_is_forked_from_one_that_may_have_threads() -> None:
    """A child that inherits a lock from a thread that it does not have waits for ever.

    The benchmark of secure sums forks its parties while it has no threads of its own.
    """
    here = {"assessment/planning/worker_processes.py", "benchmarks/secure_sum/consortium.py", "party/told_in_time.py"}
    paths = [*sources(), *(ROOT / "benchmarks").rglob("*.py")]
    words = ("ProcessPoolExecutor", "multiprocessing", "os.fork")
    makers = {p.relative_to(ROOT).as_posix() for p in paths if any(word in p.read_text() for word in words)}
    assert makers == here


def test_rows_are_read_in_one_file_of_the_party() -> None:
    """Rows are counted behind the door of rows.py, and only answers_from_rows asks there for counts and scores."""
    for path in (ROOT / "party").glob("*.py"):
        if path.name not in ("rows.py", "answers_from_rows.py"):
            assert not imported(path) & {
                "privity.common.data.contingency_tables",
                "privity.common.privacy.structure_scores",
            }, path.name


def test_private_paths_use_no_floating_point_randomness() -> None:
    """numpy's generators sample released models and invented tables, and split rows for their owner's eyes alone;
    noise has one source only."""
    sampling = (
        "common/release/synthetic_rows.py",
        "common/release/queries/evidence.py",
        "common/release/rule_forecast.py",
        "common/release/sampling_conditions.py",
        "common/synthesis/models/",
        "common/data/bin_values.py",
        "common/data/coded_table.py",
        "common/data/unread_columns.py",
        "common/release/drawn_histories.py",
        "common/release/synthetic_histories.py",
        "assessment/planning/invented_tables.py",
    )
    allowed = (
        *sampling,
        "common/release/evaluation/classifier_utility.py",
    )
    for path in sources():
        name = path.relative_to(ROOT).as_posix()
        text = path.read_text(encoding="utf-8")
        if name.startswith(("common/", "party/", "curator/")) and not name.startswith(allowed):
            assert "np.random" not in text, name
        assert not imported(path) & {"random", "pickle"}, name
