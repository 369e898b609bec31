"""Parts of the comparison with other programs and of the measurements of speed."""

import sys
from fractions import Fraction

import numpy as np
import pytest

from benchmarks.data import Data
from benchmarks.experiments import peers, scale
from benchmarks.experiments.accuracy import as_their_count, job_of
from benchmarks.methods import peer_run
from benchmarks.methods.peer_environments import ENVIRONMENTS, Environment, install, last_line
from benchmarks.methods.peer_programs import PeerError, last_said, read_codes
from benchmarks.methods.peers import AUTHORS, PEERS, REPLACED, rho_of
from privity.common.data.schema import parse_schema
from privity.common.privacy.loss_conversion import converted, rho_within

SCHEMA = parse_schema(
    {
        "fields": [
            {"name": "colour", "type": "string", "categories": ["red", "green", "blue"]},
            {"name": "size", "type": "integer", "categories": [1, 2, 3, 4]},
            {"name": "heavy", "type": "boolean"},
        ]
    },
    "toy",
)


def test_every_peer_has_a_program_and_an_environment():
    known = [(program, environment) for program, environment, _ in peers.PEERS.values()]
    for program, environment in known + [(peer.program, peer.environment) for peer in PEERS.values()]:
        assert program in peer_run.PROGRAMS
        assert environment in ENVIRONMENTS


def test_the_last_line_that_says_something():
    assert last_line("one\n two \n\n") == "two"
    assert last_line(" \n") == "no output"


def test_an_environment_that_cannot_be_made_keeps_its_error(tmp_path, monkeypatch):
    said = iter(["ERROR: no such package", ""])
    monkeypatch.setattr("benchmarks.methods.peer_environments._pip", lambda *_: next(said))
    monkeypatch.setattr(
        "benchmarks.methods.peer_environments.subprocess.run", lambda *_, **__: (tmp_path / "p").mkdir()
    )
    peer = Environment("p", pip=(("p",),), fallback=(("q",),))
    found = install(peer, tmp_path)
    assert found.errors == ["ERROR: no such package"]
    assert found.python == tmp_path / "p" / "bin" / "python"
    # The second call takes what is there and still tells why the first way failed.
    assert install(peer, tmp_path) == found


@pytest.mark.parametrize("epsilon", ["0.1", "0.4", "1.6"])
def test_a_run_at_the_others_count_has_twice_the_rho(epsilon):
    found = as_their_count(epsilon)
    theirs, ours = (rho_within(Fraction(e), Fraction("1e-9")) for e in (epsilon, found))
    assert 2 * theirs * Fraction("0.998") < ours <= 2 * theirs * Fraction("1.000001")


@pytest.mark.parametrize("name", PEERS)
def test_a_peer_that_counts_rho_gets_less_of_it_for_a_replaced_row(name):
    peer = PEERS[name]
    replaced, own = rho_of(peer, "0.4", REPLACED), rho_of(peer, "0.4", AUTHORS)
    if not peer.dearer:
        assert replaced is own is None
        return
    assert own == float(rho_within(Fraction("0.4"), Fraction("1e-9")))
    # What the whole run costs for a replaced row, by the same conversion: the epsilon that was asked for.
    spent = Fraction(replaced) * Fraction(peer.dearer)
    assert float(converted(spent, Fraction("1e-9"))) == pytest.approx(0.4, rel=1e-5)


@pytest.mark.parametrize(
    ("name", "tables", "draws"),
    [("opendp MST", "19/20", "1/20"), ("dpmm AIM, 1 MB", "9/10", "1/10"), ("dpmm MST", "2/3", "1/3")],
)
def test_a_replaced_row_is_twice_as_dear_for_tables_and_four_times_for_draws(name, tables, draws):
    assert Fraction(tables) + Fraction(draws) == 1
    assert PEERS[name].dearer == pytest.approx(float(2 * Fraction(tables) + 4 * Fraction(draws)))


def spent_upwards(rho, parts):
    """What opendp's MST adds up for its selections, and what it has for them."""
    tables = peer_run.below(peer_run.below(rho - rho * 0.5))
    draws = peer_run.below(peer_run.below(tables - tables * 0.9))
    one, spent = peer_run.below(draws / parts), 0.0
    for _ in range(parts):
        exact = Fraction(spent) + Fraction(one)
        spent = float(exact)
        if Fraction(spent) < exact:
            spent = float(np.nextafter(spent, np.inf))
    return spent, draws


def test_a_rho_is_made_divisible_at_next_to_no_loss():
    for rho in np.random.default_rng(1).uniform(1e-5, 0.1, 200).tolist():
        found = peer_run.divisible(rho, 14)
        spent, had = spent_upwards(found, 14)
        assert spent <= had
        assert rho * (1 - 1e-6) < found <= rho
    spent, had = spent_upwards(0.00713, 14)
    assert spent > had, "or it would not have to be made so"


@pytest.mark.process
def test_a_peer_that_takes_too_long_or_fails_says_so(tmp_path):
    with pytest.raises(PeerError, match="did not finish within 0 s"):
        last_said([sys.executable, "-c", "import time; time.sleep(60)"], tmp_path, 0.2)
    with pytest.raises(PeerError, match="ValueError: it broke"):
        last_said([sys.executable, "-c", "raise ValueError('it broke')"], tmp_path, 60.0)
    assert last_said([sys.executable, "-c", "print('log'); print(7)"], tmp_path, 60.0) == "7"


@pytest.mark.parametrize("content", ["colour,size\n0,1\n", "colour,size,heavy\n0,4,1\n", "colour,size,heavy\n0,x,1\n"])
def test_what_a_peer_wrote_must_fit_the_domain(tmp_path, content):
    (tmp_path / "out.csv").write_text(content)
    with pytest.raises(PeerError, match="does not fit the domain"):
        read_codes(tmp_path / "out.csv", SCHEMA)


def test_a_job_says_the_budget_and_the_memory():
    job = job_of({"method": "opendp AIM, 1 MB", "epsilon": "1", "counted": REPLACED})
    assert job["megabytes"] == 1.0
    assert job["rho"] > 0
    assert "rho" not in job_of({"method": "dpart PrivBayes", "epsilon": "1", "counted": REPLACED})


def test_the_large_table_is_dependent_and_measured(tmp_path, monkeypatch):
    table = scale.made_table(2000, (2, 3, 4, 16), 1)
    assert table.schema.domain == (2, 3, 4, 16)
    joint = np.bincount(table.columns[0] * 3 + table.columns[1], minlength=6)
    assert joint.max() > 1.5 * joint.min()
    monkeypatch.setattr(scale, "SIZES", (2, 3, 4))
    found = scale.fitted(Data(tmp_path, tmp_path), 500, "1", scale.LIGHT)
    assert (found["rows"], found["nodes"]) == (500, 3)
