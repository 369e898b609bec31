"""Logs of real nodes: JSON line by line, nothing of gRPC's own, nothing of the rows."""

from __future__ import annotations

import json
import os
import re
import signal
import socket
import subprocess
import sys
from collections.abc import Iterator
from fractions import Fraction
from pathlib import Path

import pytest

from privity.common.data.schema import load_schema
from privity.common.exit_codes import Exit
from privity.common.node.logs import FIELDS
from privity.common.protocol.secure_sum_method import MASKS
from privity.deploy.consortium.provisioning import Consortium, Limits, point_to, provision
from tests.harness.command import PATIENCE_SECONDS, privity, start, wait_until
from tests.harness.places import ROOT
from tests.harness.scrape import free_address, shown
from tests.harness.tables import people, write_people

pytestmark = pytest.mark.process

ALWAYS = ["time", "level", "logger", "event"]


@pytest.fixture
def consortium(tmp_path: Path) -> Consortium:
    """Folders of a curator and two parties; whose metrics are shown."""
    _, schema_file = write_people(tmp_path, 10)
    frames = {name: people(80, seed).astype(str) for seed, name in enumerate(("north", "south"))}
    limits = Limits(Fraction(1), 1, MASKS, None)
    return provision(tmp_path / "all", frames, load_schema(schema_file), limits, patience=20)


def operator_of(place: Path, port: int) -> Path:
    """operator.toml of a consortium's folders."""
    file = place / "operator" / "operator.toml"
    file.write_text(
        f'format_version = 1\ncurator = "localhost:{port}"\ncertificate = "tls.pem"\nkey = "tls.key"\n'
        'manifest = "manifest.json"\norganiser_key = "organiser.pub"\n'
    )
    return file


class Nodes:
    """Processes ``privity ... serve --log-format FORMAT``, their output in files."""

    def __init__(self, consortium: Consortium, form: str) -> None:
        self.consortium, self.form = consortium, form
        self.running: dict[str, subprocess.Popen[str]] = {}
        self.said: dict[str, str] = {}

    def start(self, name: str, *command: str | Path) -> None:
        self.running[name] = start(*command, "--log-format", self.form)

    def start_all(self) -> int:
        """The curator's port, once it and both parties were started."""
        port_file = self.consortium.curator / "port"
        config = self.consortium.curator / "curator.toml"
        self.start("curator", "curator", "serve", "--config", config, "--port-file", port_file)
        wait_until(port_file.exists, "the curator's port")
        point_to(self.consortium, int(port_file.read_text()))
        for name in self.consortium.members:
            self.start(name, "party", "serve", "--config", self.consortium.party(name) / "party.toml")
        return int(port_file.read_text())

    def stop(self) -> None:
        for name, process in self.running.items():
            process.send_signal(signal.SIGTERM)
            out, err = process.communicate(timeout=PATIENCE_SECONDS)
            assert out == "", f"{name} wrote to standard output"
            self.said[name] = err
        self.running = {}


@pytest.fixture(params=["json", "text"])
def nodes(consortium: Consortium, request: pytest.FixtureRequest) -> Iterator[Nodes]:
    found = Nodes(consortium, request.param)
    yield found
    for process in found.running.values():
        process.kill()
        process.communicate()


def test_a_run_and_its_logs(nodes: Nodes, tmp_path: Path) -> None:
    addresses = {name: free_address() for name in ("curator", "north")}
    consortium = nodes.consortium
    with (consortium.curator / "curator.toml").open("a") as settings:
        settings.write(f'metrics = "{addresses["curator"]}"\n')
    port = nodes.start_all()
    # Somebody who speaks no TLS at all: gRPC's core would write about it.
    with socket.create_connection(("127.0.0.1", port)) as stranger:
        stranger.sendall(b"GET / HTTP/1.0\r\n\r\n")
        stranger.recv(100)
    operator = operator_of(tmp_path / "all", port)
    done = privity(
        "run", "submit", "--config", operator, "--algorithm", "one-way", "--epsilon", "1", "--secure-sum", "masks",
        "--out", tmp_path / "release",
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    ended = shown(addresses["curator"])["privity_curator_runs_ended_total"]
    assert ended == [({"state": "COMPLETED", "reason": "none"}, 1.0)]
    nodes.stop()
    if nodes.form == "json":
        logs = {name: [json.loads(line) for line in said.splitlines()] for name, said in nodes.said.items()}
        for line in (line for lines in logs.values() for line in lines):
            assert list(line)[:4] == ALWAYS
            assert set(line) <= {*ALWAYS, *FIELDS}
            assert re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ", line["time"])
        events = [line["event"] for line in logs["curator"]]
        stopping = "stopping in order and at once on a second signal"
        assert events == ["the curator serves", "a run was submitted", "a run ended", stopping]
        assert {key: logs["curator"][2][key] for key in ("state", "reason")} == {"state": "COMPLETED", "reason": "none"}
        (run,) = {line["run"] for lines in logs.values() for line in lines if "run" in line}
        for name in consortium.members:
            assert [line["event"] for line in logs[name][:2]] == ["checking the rows", "connected to the curator"]
            assert [line["step"] for line in logs[name] if "step" in line][:2] == ["enrol", "begin"]
        assert run.startswith("run-")
    else:
        head = r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ (INFO|WARNING) privity\.[a-z]+: [a-z' ]+"
        fields = r"""( [a-z]+=([^\s"]+|"[^"]+"))*"""
        for said in nodes.said.values():
            for line in said.splitlines():
                assert re.fullmatch(head + fields, line), line


@pytest.mark.parametrize("form", ["json", "text"])
def test_rows_at_fault_are_not_quoted_in_the_logs_of_a_node(consortium: Consortium, form: str) -> None:
    point_to(consortium, 1)
    place = consortium.party("north")
    data = place / "data.csv"
    data.write_text(data.read_text().replace("south", "SECRET-WARD"))
    done = privity("party", "serve", "--config", place / "party.toml", "--log-format", form)
    assert done.returncode == Exit.INPUT
    assert "SECRET-WARD" not in done.stdout + done.stderr
    assert "do not fit the schema" in done.stderr
    assert "file-unreadable" in done.stderr
    if form == "json":
        _, line = (json.loads(line) for line in done.stderr.splitlines())
        assert (line["level"], line["reason"]) == ("CRITICAL", "file-unreadable")
        assert line["remedy"]
    assert "SECRET-WARD" in privity("doctor", "--config", place / "party.toml", "--json").stdout, (
        "its owner may see them"
    )


@pytest.mark.parametrize("form", ["json", "text"])
def test_a_file_that_is_not_there_is_named_without_a_traceback(consortium: Consortium, form: str) -> None:
    point_to(consortium, 1)
    place = consortium.party("north")
    (place / "organiser.pub").unlink()
    done = privity("party", "serve", "--config", place / "party.toml", "--log-format", form)
    assert done.returncode == Exit.INPUT
    assert "organiser.pub" in done.stderr
    assert "Traceback" not in done.stderr


def test_grpc_may_be_made_to_speak_again() -> None:
    code = "import os, privity; print(os.environ['GRPC_VERBOSITY'])"
    for given, used in ((None, "NONE"), ("info", "info")):
        environment = {key: value for key, value in os.environ.items() if key != "GRPC_VERBOSITY"}
        environment |= {"GRPC_VERBOSITY": given} if given else {}
        done = subprocess.run([sys.executable, "-c", code], cwd=ROOT, env=environment, capture_output=True, text=True)
        assert done.stdout.strip() == used


def test_one_folder_is_for_one_process(consortium: Consortium) -> None:
    nodes = Nodes(consortium, "text")
    try:
        nodes.start_all()
        wait_until((consortium.party("north") / "state" / "lock").exists, "a node at work")
        for command, file in (
            ("party", consortium.party("north") / "party.toml"),
            ("curator", consortium.curator / "curator.toml"),
        ):
            done = privity(command, "serve", "--config", file)
            assert done.returncode == Exit.INPUT
            assert f"another node is at work on {file.parent / 'state'}" in done.stderr
    finally:
        nodes.stop()
