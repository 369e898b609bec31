"""Parts of the comparison with other programs and of the measurements of speed."""

import json
from pathlib import Path

import numpy as np

from benchmarks import scale
from benchmarks.peers import __main__ as peers
from benchmarks.peers import run
from benchmarks.peers.environments import ENVIRONMENTS, Environment, Installed, install, last_line


def test_every_peer_has_a_program_and_an_environment():
    for peer in peers.PEERS:
        assert peer.environment in ENVIRONMENTS
        assert peer.name in run.PROGRAMS or peer.name == "private-pgm"


def test_the_last_line_that_says_something():
    assert last_line("one\n two \n\n") == "two"
    assert last_line(" \n") == "no output"


def test_an_environment_that_cannot_be_made_keeps_its_error(tmp_path, monkeypatch):
    said = iter(["ERROR: no such package", ""])
    monkeypatch.setattr("benchmarks.peers.environments._pip", lambda *_: next(said))
    monkeypatch.setattr("benchmarks.peers.environments.subprocess.run", lambda *_, **__: (tmp_path / "p").mkdir())
    peer = Environment("p", pip=(("p",),), fallback=(("q",),))
    found = install(peer, tmp_path)
    assert found.errors == ["ERROR: no such package"]
    assert found.python == tmp_path / "p" / "bin" / "python"
    # The second call takes what is there and still tells why the first way failed.
    assert install(peer, tmp_path) == found


def test_the_report_has_ratios_of_neighbours_and_names_failures(make_table, tmp_path):
    table = make_table([2, 3], 10)
    bench = peers.Bench(Path("t.csv"), Path("t.json"), table.schema, table, tmp_path)
    bench.write_codes()
    assert np.array_equal(bench.read_codes(bench.codes).columns[1], table.columns[1])
    peer = peers.PEERS[0]
    ours, theirs = peers.Run(0.5, 0.5, 2, 0.05, 0.2), peers.Run(5, 1, 9, 0.1, 0.3)
    points = [peers.Point(peer, "1", [theirs], [ours]), peers.Point(peer, "2", error="it broke")]
    text = peers.report(points, {"gone": Installed(None, ["no such package"])}, bench, "command")
    assert "| 6.0 |" in text
    assert "- `gone`: no such package" in text
    assert "epsilon 2: it broke" in text


def test_the_large_table_is_dependent_and_measured(capsys, monkeypatch, tmp_path):
    table = scale.made_table(2000, (2, 3, 4, 16), 1)
    assert table.schema.domain == (2, 3, 4, 16)
    joint = np.bincount(table.columns[0] * 3 + table.columns[1], minlength=6)
    assert joint.max() > 1.5 * joint.min()
    monkeypatch.setattr(scale, "SIZES", (2, 3, 4))
    arguments = ["scale", "--data", "x", "--schema", "x", "--out", str(tmp_path), "--rows", "500", "--only", "large"]
    monkeypatch.setattr("sys.argv", arguments)
    scale.main()
    found = json.loads(capsys.readouterr().out)
    assert (found["rows"], found["nodes"]) == (500, 3)
    assert "| a made table | 500 | 3 |" in scale.report({"large": found}, "command")
