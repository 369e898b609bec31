"""``privity simulate`` as a user runs it: real processes, real gRPC, real TLS, full-length keys.

Tests that ``start`` it have nodes that start as a user's do; those of the others are forks.
"""

from __future__ import annotations

import hashlib
import json
import re
import signal
from fractions import Fraction
from pathlib import Path

import pandas as pd
import pytest

from privity.common.data.schema import load_schema
from privity.common.data.table_reading import read_table
from privity.common.errors import PrivityError
from privity.common.exit_codes import Exit
from privity.common.formats import require
from privity.common.release.release_contents import RELEASE_FILES
from privity.common.release.release_folder import WRITTEN_AT
from privity.common.release.verification.release_verification import check_release
from privity.common.synthesis.models.junction_tree_model import JunctionTreeModel
from privity.common.synthesis.models.load_model import load_model
from privity.interfaces.cli.main import app
from tests.harness.command import PATIENCE_SECONDS, children, lives, privity, start, wait_until
from tests.harness.long import long_but
from tests.harness.tables import write_people

pytestmark = pytest.mark.process

ROWS = 900


def options(folder: Path, out: Path, *more: str, gzip: bool = False) -> list[str]:
    table, schema = write_people(folder, ROWS, gzip=gzip)
    base = [
        "simulate",
        "--data",
        table,
        "--schema",
        schema,
        "--out",
        out,
        "--key-bits",
        "2048",
        "--algorithm",
        "dp-subn",
    ]
    return [str(part) for part in [*base, *more]]


@pytest.fixture(scope="module")
def release(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A release over three parties, one of which holds 80 % of the rows."""
    folder = tmp_path_factory.mktemp("simulation")
    out = folder / "release"
    done = privity(
        *options(folder, out, "--epsilon", "2.5", "--split", "sizes:.8,.1,.1", "--schedule", "final", gzip=True)
    )
    assert done.returncode == 0, done.stderr
    assert "one machine saw all rows" in done.stdout
    assert "Privacy loss of a person: epsilon 2.5, delta 0." in done.stdout
    assert re.search(r"Seconds by phase, not in the release: .*parameter learning [0-9.]+", done.stdout)
    for phase in ("enrolment", "correlation quantification", "structure initialisation", "parameter learning"):
        assert phase in done.stderr
    return out


@pytest.mark.long
def test_masks_take_the_sums_where_they_are_asked_for(tmp_path: Path) -> None:
    table, schema = write_people(tmp_path, ROWS)
    out = tmp_path / "release"
    base = ["simulate", "--data", table, "--schema", schema, "--out", out, "--epsilon", "2.5", "--secure-sum", "masks"]
    scoring = ["--evaluation-epsilon", "0.25", "--evaluation-target", "smoker"]
    done = privity(*(str(part) for part in [*base, *scoring]))
    assert done.returncode == 0, done.stderr
    told = json.loads((out / "scores.json").read_text())
    require(told, "scores", "scores.json")
    assert told["rows"] == ROWS
    assert Fraction(told["scale"]) == 3 / Fraction("0.25"), "three scores, each changed by one row by one at most"
    assert [score["measure"] for score in told["scores"]] == [*["total variation distance"] * 2, "accuracy"]
    assert told["scores"][2]["value"] > 0.5 - told["half_width"]
    assert "How good it is, by the owners" in (out / "report.html").read_text()
    run = json.loads((out / "run.json").read_text())
    require(run, "run", "run")
    assert run["secure_sum"] == {"method": "masks", "exponents": None}
    assert run["key_bits"] is None
    assert sum(run["ciphertexts"].values()) == 0
    statement = json.loads((out / "privacy.json").read_text())
    assert "pairwise masks" in statement["observers"][1]["assumption"]
    assert "Paillier" not in json.dumps(statement)


def test_the_release_has_every_file_in_its_format(release: Path) -> None:
    assert sorted(path.name for path in release.iterdir()) == sorted(RELEASE_FILES)
    assert "not signed: a simulation's keys all lay on one machine" in check_release(release)[-1]
    for name in ("model", "marginals", "privacy", "run"):
        require(json.loads((release / f"{name}.json").read_text()), name, name)


def test_the_synthetic_table_fits_the_schema(release: Path) -> None:
    schema = load_schema(release.parent / "people.schema.json")
    table = read_table(release / "synthetic.csv", schema)
    assert table.rows == ROWS
    frame = pd.read_csv(release / "synthetic.csv")
    assert list(frame.columns) == list(schema.names)
    assert frame["age"].dtype.kind == "i", "integers stay integers"


def test_the_model_can_be_loaded_again(release: Path) -> None:
    schema = load_schema(release.parent / "people.schema.json")
    model = load_model(json.loads((release / "model.json").read_text()), schema, "model.json")
    assert isinstance(model, JunctionTreeModel)
    assert {a for clique in model.cliques for a in clique.attributes} == set(range(len(schema.attributes)))


def test_the_statement_says_who_is_protected_and_what_was_charged(release: Path) -> None:
    privacy = json.loads((release / "privacy.json").read_text())
    assert privacy["relation"] == "replace one row"
    assert (privacy["K"], privacy["t"], privacy["rows_per_person"]) == (3, 1, 1)
    assert privacy["simulation"] is True
    assert any("one machine saw all rows" in line for line in privacy["in_words"])
    observers = {o["observer"]: o for o in privacy["observers"]}
    assert set(observers) == {
        "public",
        "curator",
        "party party-1",
        "party party-2",
        "party party-3",
        "any coalition of up to 1 party",
    }
    for observer in observers.values():
        assert Fraction(observer["epsilon"]) == Fraction(5, 2)
    assert [p["rows"] for p in privacy["parties"]] == [720, 90, 90]
    for party in privacy["parties"]:
        assert Fraction(party["epsilon_per_row"]) <= Fraction(5, 2)
        assert sum(map(Fraction, party["epsilon_per_row_by_phase"].values())) == Fraction(party["epsilon_per_row"])


def test_rows_that_were_given_by_position_leave_the_guarantee_to_the_joint_table(release: Path) -> None:
    privacy = json.loads((release / "privacy.json").read_text())
    assert privacy["split"] == "position"
    assert any("one replaced row of it is one replaced row of one party" in line for line in privacy["in_words"])


@pytest.mark.parametrize("split", ["by:age", pytest.param("dirichlet:age:.5", marks=pytest.mark.long)])
def test_rows_that_were_given_by_what_they_hold_are_protected_for_the_split_as_given(
    tmp_path: Path, split: str
) -> None:
    out = tmp_path / "release"
    table, schema = write_people(tmp_path, 300)
    base = ("simulate", "--data", table, "--schema", schema, "--out", out, "--epsilon", "1", "--secure-sum", "masks")
    process = start(*map(str, base), "--parties", "2", "--algorithm", "one-way", "--split", split)
    printed, errors = process.communicate(timeout=PATIENCE_SECONDS)
    assert process.returncode == 0, errors
    privacy = json.loads((out / "privacy.json").read_text())
    assert privacy["split"] == "given"
    assert any("The guarantee holds for the split as given" in line for line in privacy["in_words"])
    assert "For the split as given" in printed
    report = (out / "report.html").read_text()
    assert "; for the split as given</bdi>" in report
    assert "it does not protect the split" in report


def test_no_file_of_the_release_tells_how_long_anything_took(release: Path) -> None:
    run = json.loads((release / "run.json").read_text())
    assert "seconds" not in run
    assert "Seconds" not in (release / "report.html").read_text()
    times = {path.stat().st_mtime for path in (release, *release.iterdir())}
    assert times == {WRITTEN_AT}


def test_selection_goes_to_parties_in_proportion_to_their_rows(release: Path) -> None:
    phases = {p["phase"]: p for p in json.loads((release / "privacy.json").read_text())["phases"]}
    # Four draws over rows 720, 90, 90: the large party makes them all but at most one.
    assert "party-1" in phases["structure initialisation"]["paid_by"]
    assert len(phases["structure initialisation"]["paid_by"]) < 3


def test_the_run_counts_bytes_ciphertexts_and_digests(release: Path) -> None:
    run = json.loads((release / "run.json").read_text())
    for name, digest in run["files"].items():
        assert hashlib.sha256((release / name).read_bytes()).hexdigest() == digest
    assert set(run["files"]) == set(RELEASE_FILES) - {"run.json"}
    for phase in ("correlation quantification", "structure update", "parameter learning"):
        assert set(run["bytes"][phase]) == {"party-1", "party-2", "party-3"}
        assert run["ciphertexts"][phase] > 0
        # A ciphertext of a 2048-bit modulus is 512 bytes; each of the three parties sends its own.
        assert sum(run["bytes"][phase].values()) > 512 * run["ciphertexts"][phase]
    assert run["key_bits"] == 2048


def test_the_noise_is_really_there(release: Path) -> None:
    for table in json.loads((release / "marginals.json").read_text())["tables"]:
        assert len(table["counts"]) == pd.Series(table["shape"]).prod()
    totals = [sum(t["counts"]) for t in json.loads((release / "marginals.json").read_text())["tables"]]
    assert any(total != ROWS for total in totals)


@pytest.mark.long
def test_a_copula_under_a_delta_is_one_secure_round(tmp_path: Path) -> None:
    delta = "1/1073741824"
    given = ("--algorithm", "copula", "--epsilon", "1", "--delta", delta, "--parties", "2")
    done = privity(*options(tmp_path, tmp_path / "release", *given))
    assert done.returncode == 0, done.stderr
    run = json.loads((tmp_path / "release" / "run.json").read_text())
    assert (run["delta"], list(run["rounds"].values())) == (delta, [1])
    statement = json.loads((tmp_path / "release" / "privacy.json").read_text())
    assert {observer["delta"] for observer in statement["observers"]} == {delta}


def test_more_rows_than_a_release_can_have_are_refused_before_any_process_starts(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("privity.common.release.synthetic_rows.MOST_RELEASE_CELLS", ROWS)
    monkeypatch.setattr(
        "privity.assessment.simulation.simulated_run.provision", lambda *_given, **_named: pytest.fail("it went on")
    )
    with pytest.raises(PrivityError, match=f"rows: {ROWS} rows, and a release of"):
        app(options(tmp_path, tmp_path / "release", "--epsilon", "1"), standalone_mode=False)


def test_nothing_is_overwritten(release: Path, tmp_path: Path) -> None:
    before = (release / "run.json").read_bytes()
    done = privity(*options(tmp_path, release, "--epsilon", "1"))
    assert done.returncode == Exit.INPUT
    assert "exists already" in done.stderr
    assert (release / "run.json").read_bytes() == before


def test_a_party_that_dies_ends_the_run_and_leaves_nothing(tmp_path: Path) -> None:
    process = start(*options(tmp_path, tmp_path / "release", "--epsilon", "1", "--rows", "300"))
    wait_until(lambda: len(children(process)) == 4, "the processes start")
    everybody = children(process)
    victim = next(c for c in everybody if "party-2" in " ".join(c.cmdline()))
    victim.kill()
    out, err = process.communicate(timeout=60)
    assert process.returncode == Exit.FAILED
    assert "party-2" in err
    assert "Traceback" not in out + err
    assert not any(lives(c) for c in everybody)
    assert sorted(p.name for p in tmp_path.iterdir()) == ["people.csv", "people.schema.json"]


@pytest.mark.parametrize("number", long_but([signal.SIGINT], [signal.SIGINT, signal.SIGTERM, signal.SIGKILL]))
def test_a_stopped_simulation_leaves_no_process(tmp_path: Path, number: signal.Signals) -> None:
    process = start(*options(tmp_path, tmp_path / "release", "--epsilon", "1", "--rows", "300"))
    wait_until(lambda: len(children(process)) == 4, "the processes start")
    everybody = children(process)
    process.send_signal(number)
    _, err = process.communicate(timeout=60)
    assert process.returncode != 0
    assert "Traceback" not in err
    wait_until(lambda: not any(lives(c) for c in everybody), "all processes end")
    assert not (tmp_path / "release").exists()
