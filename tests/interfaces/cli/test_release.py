"""What people do with a release by commands: verify, sample, export; and a word about every file that is amiss."""

from __future__ import annotations

import dataclasses
import hashlib
import json
import shutil
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from typer.testing import CliRunner

from privity import Release, load_model
from privity.common.crypto.identity import Identity
from privity.common.errors import PrivityError
from privity.common.exit_codes import Exit, exit_code
from privity.common.release.attestations import Published, signed_by_party, write_attestations
from privity.common.release.release_contents import RELEASE_FILES
from privity.common.storage.canonical_json import b64
from privity.interfaces.cli.main import app
from tests.harness.command import privity as in_a_process
from tests.harness.ledgers import declared
from tests.harness.signed_releases import signed_release
from tests.harness.tables import FIELDS, people

RULES = ["age >= 30 or not smoker", "score > 0 or cost < 100", "missing(area) or score < 3"]
AREA = {"name": "area", "type": "integer", "categories": [7, 9], "missingValues": ["NA"]}


@dataclass(frozen=True)
class Done:
    """A command that has ended, as its process would have."""

    returncode: int
    stdout: str
    stderr: str


def privity(*arguments: str | Path) -> Done:
    """Run ``privity`` in this process: it starts a hundred times as fast."""
    result = CliRunner().invoke(app, [str(argument) for argument in arguments])
    error = result.exception
    if isinstance(error, PrivityError):
        return Done(exit_code(error), result.stdout, f"error [{error.code}]: {error}")
    if error is not None and not isinstance(error, SystemExit):
        raise error
    return Done(result.exit_code, result.stdout, result.stderr)


@pytest.fixture(scope="module")
def made(tmp_path_factory) -> Path:
    folder = tmp_path_factory.mktemp("made")
    area = np.random.default_rng(1).choice(["7", "9", "NA"], 1500)
    people(1500).assign(area=area).to_csv(folder / "people.csv", index=False)
    document = {"name": "people", "fields": [*FIELDS, AREA], "rowConstraints": RULES}
    (folder / "schema.json").write_text(json.dumps(document))
    declared(folder / "ledger").close()
    done = privity(
        "synthesize", "--data", folder / "people.csv", "--schema", folder / "schema.json", "--epsilon", "4",
        "--population", "people", "--ledger", folder / "ledger", "--out", folder / "release",
    )  # fmt: skip
    assert done.returncode == Exit.DONE, done.stderr
    for rule in RULES:
        assert f"The rule {rule} refused " in done.stdout
    return folder


@pytest.fixture
def release(made, tmp_path) -> Path:
    shutil.copytree(made / "release", tmp_path / "release")
    return tmp_path / "release"


def sample(release, out, *more, expect=Exit.DONE):
    done = privity("sample", release, "--rows", "300", "--out", out, *more)
    assert done.returncode == expect, done.stderr
    assert "Traceback" not in done.stderr
    return done


def meets(frame):
    return (
        ((frame["age"] >= 30) | ~frame["smoker"])
        & ((frame["score"] > 0) | (frame["cost"] < 100))
        & (frame["area"].isna() | (frame["score"] < 3))
    )


def test_a_release_meets_its_rules_and_says_what_they_refused(made):
    frame = pd.read_csv(made / "release" / "synthetic.csv", na_values=["NA"])
    assert meets(frame).all()
    run = json.loads((made / "release" / "run.json").read_text())
    assert [entry["rule"] for entry in run["constraints"]] == RULES
    assert all(0 < entry["rejected"] < 0.6 for entry in run["constraints"])
    assert json.loads((made / "release" / "schema.json").read_text())["rowConstraints"] == RULES


def test_a_schema_shows_its_rules_and_how_many_rows_of_their_owner_break_them(made):
    alone = privity("schema", "check", made / "schema.json")
    assert [line for line in alone.stdout.splitlines() if line.startswith("Rule: ")] == [f"Rule: {r}" for r in RULES]
    frame = pd.read_csv(made / "people.csv")
    broken = [
        int(((frame["age"] < 30) & frame["smoker"]).sum()),
        int(((frame["score"] == 0) & (frame["cost"] >= 100)).sum()),
        int((frame["area"].notna() & (frame["score"] == 3)).sum()),
    ]
    said = [f"Rule {rule}: broken by {count} rows." for rule, count in zip(RULES, broken, strict=True)]
    typed = made / "people.parquet"
    frame.astype({"area": "Int64"}).to_parquet(typed, index=False)
    for data in (made / "people.csv", typed):
        done = privity("schema", "check", made / "schema.json", "--data", data)
        assert done.returncode == Exit.DONE, done.stderr
        assert [line for line in done.stdout.splitlines() if line.startswith("Rule ")] == said
        assert "private" in done.stdout


def test_a_store_of_too_many_different_values_is_not_looked_at(made, monkeypatch):
    monkeypatch.setattr("privity.party.sources.broken_rules.MOST_COMBINATIONS", 5)
    pd.read_csv(made / "people.csv").astype({"area": "Int64"}).to_parquet(made / "many.parquet", index=False)
    done = privity("schema", "check", made / "schema.json", "--data", made / "many.parquet")
    assert done.returncode == Exit.DONE
    assert f"Rule {RULES[0]}: too many different values to look at." in done.stdout


def test_rows_of_a_release_are_typed_under_conditions_and_follow_from_the_seed(release, tmp_path):
    conditions = ("--where", "ward=north", "--where", "age=33", "--seed", "5")
    sample(release, tmp_path / "a.parquet", *conditions)
    sample(release, tmp_path / "b.csv.gz", *conditions)
    table = pq.read_table(tmp_path / "a.parquet")
    types = [pa.int64(), pa.string(), pa.bool_(), pa.int64(), pa.float64(), pa.int64()]
    assert table.schema.types == types
    typed, text = table.to_pandas(), pd.read_csv(tmp_path / "b.csv.gz", na_values=["NA"], keep_default_na=False)
    assert len(typed) == 300
    assert set(typed["ward"]) == {"north"}
    assert set(typed["age"]) == {33}
    assert meets(typed).all()
    assert table.column("area").null_count > 0
    assert (typed["area"].isna() == text["area"].isna()).all()
    assert typed.drop(columns="area").equals(text.drop(columns="area").astype(typed.drop(columns="area").dtypes))
    again = load_model(release / "model.json", release / "schema.json").sample(300, 5, {"ward": "north", "age": 33})
    assert again["cost"].tolist() == typed["cost"].tolist()


def test_a_missing_value_can_be_asked_for_and_rules_added_later(release, tmp_path):
    document = json.loads((release / "schema.json").read_text())
    (tmp_path / "strict.json").write_text(json.dumps({**document, "rowConstraints": ["age < 60", "ward != 'west'"]}))
    asked = ("--where", "area=NA", "--schema", tmp_path / "strict.json")
    done = sample(release / "model.json", tmp_path / "a.csv", *asked)
    frame = pd.read_csv(tmp_path / "a.csv", keep_default_na=False)
    assert set(frame["area"]) == {"NA"}
    assert (frame["age"] < 60).all()
    assert set(frame["ward"]) == {"north", "south"}
    seed = done.stdout.split("--seed ")[1].split()[0]
    sample(release, tmp_path / "b.csv", *asked, "--seed", seed)
    assert (tmp_path / "a.csv").read_bytes() == (tmp_path / "b.csv").read_bytes()


def test_every_condition_that_cannot_be_is_named_at_once(release, tmp_path):
    done = sample(
        release, tmp_path / "a.csv", "--where", "ward=east", "--where", "height=3", "--where", "age=200",
        "--where", "smoker=true", "--where", "smoker=false", expect=Exit.INPUT,
    )  # fmt: skip
    for part in ("'ward': [unknown-value] 'east'", "'height': [unknown-attribute]", "'age': [unknown-value] '200'"):
        assert part in done.stderr
    assert "'smoker': [no-value] no row has smoker = 'true' and smoker = 'false'" in done.stderr
    assert not (tmp_path / "a.csv").exists()


@pytest.mark.statistical
def test_rows_that_the_model_does_not_have_end_in_a_plain_word_and_no_file(release, tmp_path):
    document = json.loads((release / "schema.json").read_text())
    rule = "age >= 89 and cost > 999.999 and score == 3 and ward == 'west' and age > 88 and cost >= 999.9999"
    (tmp_path / "strict.json").write_text(json.dumps({**document, "rowConstraints": [rule]}))
    done = sample(release, tmp_path / "a.csv", "--schema", tmp_path / "strict.json", expect=Exit.INPUT)
    assert "error [too-rare]: of " in done.stderr
    assert rule in done.stderr.replace("\n", " ")
    assert not (tmp_path / "a.csv").exists()


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (("--out", "a.txt"), "cannot be written"),
        (("--out", "nowhere/a.csv"), "no such file"),
        (("--rows", "0", "--out", "a.csv"), "not a number of rows"),
        (("--out", "a.csv", "--seed", "-1"), "negative"),
        (("--out", "a.csv", "--where", "ward"), "it compares nothing"),
        (("--out", "release"), "exists already"),
    ],
)
def test_an_option_that_cannot_be_is_refused(release, tmp_path, monkeypatch, options, said):
    monkeypatch.chdir(tmp_path)
    given = options if "--rows" in options else ("--rows", "5", *options)
    done = privity("sample", release, *given)
    assert done.returncode == Exit.INPUT
    assert said in done.stderr


@pytest.mark.process
def test_a_whole_release_is_verified_in_plain_words(release):
    done = in_a_process("verify", release)
    assert done.returncode == Exit.DONE, done.stderr
    assert done.stdout.startswith("The data of this release are whole and fit together.")
    assert f"{len(RELEASE_FILES) - 1} files are there" in done.stdout
    assert "1500 rows, as many as run.json says" in done.stdout
    assert "3 of 3 row constraints are enforced" in done.stdout


def test_a_release_of_one_owner_is_not_signed_and_verify_says_so(release, tmp_path):
    alone = "not signed: a single data owner published it, without a consortium"
    done = privity("verify", release)
    assert done.returncode == Exit.DONE
    assert alone in done.stdout
    (tmp_path / "organiser.pub").write_text(b64(Identity.generate().public().signing))
    done = privity("verify", release, "--root", tmp_path / "organiser.pub")
    assert done.returncode == Exit.INPUT
    assert "attestations.json: [not-signed]" in done.stderr
    assert alone in done.stderr
    for root, said in (("nowhere.pub", "file-missing"), (release / "run.json", "not an organiser's public key")):
        done = privity("verify", release, "--root", tmp_path / root)
        assert done.returncode == Exit.INPUT
        assert said in done.stderr


def test_verify_says_who_attests_what_and_names_who_signed_another_digest(tmp_path):
    signed = signed_release(tmp_path)
    done = privity("verify", signed.folder, "--root", signed.root)
    assert done.returncode == Exit.DONE, done.stderr
    assert "party-2: attests this run, plan and digest, and that its ledger was charged as" in done.stdout
    assert "All 3 parties and the curator agree." in done.stdout
    assert "Nobody attests that the curator computed the table honestly" in done.stdout
    unchecked = privity("verify", signed.folder)
    assert unchecked.returncode == Exit.DONE
    assert "attestations.json was not checked." in unchecked.stdout
    assert "3 parties" not in unchecked.stdout, "nobody is counted whose signature was not checked"
    assert Release(signed.folder).verify(root=signed.root)[-2] == "All 3 parties and the curator agree."
    document = json.loads((signed.folder / "attestations.json").read_text())
    own = (signed.folder / "run.json").read_bytes()
    published = dataclasses.replace(Published.of(own, json.loads(own)), digest="0" * 64)
    party = signed.consortium.parties["party-2"]
    charges = document["parties"][1]["statement"]["charges"]
    document["parties"][1] = signed_by_party(published, signed.consortium.manifest, "party-2", charges, party.identity)
    write_attestations(signed.folder, document)
    done = privity("verify", signed.folder, "--root", signed.root)
    assert done.returncode == Exit.INPUT
    assert "party-1: attests this run" in done.stdout
    assert "2 of 3 parties agree with" in done.stdout
    assert "parties[1]: [other-digest] party-2 signed another digest than that of this release" in done.stderr


def test_every_command_that_reads_a_release_names_all_missing_and_altered_files(release, tmp_path):
    (release / "privacy.json").unlink()
    with (release / "marginals.json").open("a") as file:
        file.write(" ")
    for command in (
        ("verify", release),
        ("sample", release, "--rows", "5", "--out", tmp_path / "a.csv"),
        ("sample", release / "model.json", "--rows", "5", "--out", tmp_path / "a.csv"),
        ("export", release, "--to", "mbi", "--out", tmp_path / "m.json"),
        ("export", release, "--to", "dpsynth", "--out", tmp_path / "m"),
    ):
        done = privity(*command)
        assert done.returncode == Exit.INPUT
        assert "privacy.json: [missing]" in done.stderr
        assert "marginals.json: [altered]" in done.stderr
        assert "Traceback" not in done.stderr
    assert [path.name for path in tmp_path.iterdir()] == ["release"]


def digested(release, name):
    """Make run.json name the file as it is now: what a forger would do."""
    run = json.loads((release / "run.json").read_text())
    run["files"][name] = hashlib.sha256((release / name).read_bytes()).hexdigest()
    (release / "run.json").write_text(json.dumps(run))


def test_what_does_not_fit_together_is_found_though_the_digests_do(release):
    rows = pd.read_csv(release / "synthetic.csv", keep_default_na=False, dtype=str)
    rows.loc[0, ["age", "smoker"]] = ["20", "true"]
    pd.concat([rows, rows.tail(1)]).to_csv(release / "synthetic.csv", index=False)
    privacy = json.loads((release / "privacy.json").read_text())
    (release / "privacy.json").write_text(json.dumps({**privacy, "run": "another"}))
    tables = json.loads((release / "marginals.json").read_text())
    (release / "marginals.json").write_text(json.dumps({**tables, "schema_digest": "0" * 64}))
    for name in ("synthetic.csv", "privacy.json", "marginals.json"):
        digested(release, name)
    done = privity("verify", release)
    assert done.returncode == Exit.INPUT
    assert "[rows] it has 1501 rows, and run.json says 1500" in done.stderr
    assert f"[rule-broken] 1 rows break the rule {RULES[0]}" in done.stderr
    assert "[other-run]" in done.stderr
    assert "belong to another schema" in done.stderr


def lowered(document):
    """Every epsilon at a thousandth."""
    if isinstance(document, dict):
        return {
            key: "1/1000" if key.startswith("epsilon") and isinstance(value, str) else lowered(value)
            for key, value in document.items()
        }
    return [lowered(one) for one in document] if isinstance(document, list) else document


def party_with(**changed):
    return lambda privacy: {**privacy, "parties": [{**privacy["parties"][0], **changed}]}


@pytest.mark.parametrize(
    ("change", "field"),
    [
        (lowered, "parties[0].epsilon_per_row"),
        (party_with(epsilon_per_person="2"), "parties[0].epsilon_per_person"),
        (party_with(epsilon_per_row="9", epsilon_per_row_by_phase={"all": "9"}), "parties: "),
        (party_with(epsilon_per_row_by_phase={"all": "4"}), "parties[0].epsilon_per_row_by_phase.all"),
        (party_with(delta_per_row="1/9"), "parties[0].delta_per_row"),
        (lambda privacy: {**privacy, "t": 1}, "t: "),
        (lambda privacy: {**privacy, "K": 2}, "K: "),
        (lambda privacy: {**privacy, "observers": lowered(privacy["observers"])}, "observers[0]"),
        (lambda privacy: {**privacy, "phases": lowered(privacy["phases"])}, "phases[0].epsilon_per_row"),
    ],
)
def test_figures_that_do_not_fit_are_found_though_the_digests_do(release, change, field):
    privacy = json.loads((release / "privacy.json").read_text())
    (release / "privacy.json").write_text(json.dumps(change(privacy)))
    digested(release, "privacy.json")
    done = privity("verify", release)
    assert done.returncode == Exit.INPUT
    assert "[other-figures]" in done.stderr
    assert field in done.stderr
    assert done.stdout == ""


def test_a_party_that_is_not_listed_sent_nothing(release):
    run = json.loads((release / "run.json").read_text())
    (release / "run.json").write_text(json.dumps({**run, "bytes": {"all": {"north": 1}}}))
    assert "party north is not listed" in privity("verify", release).stderr


def test_files_that_are_no_part_of_a_release_and_links_are_named(release, tmp_path):
    (release / "synthetic.xlsx").write_text("x")
    (release / "rows").mkdir()
    (release / "model.json").rename(tmp_path / "elsewhere")
    (release / "model.json").symlink_to(tmp_path / "elsewhere")
    (release / "nowhere.csv").symlink_to(tmp_path / "nowhere")
    done = privity("verify", release)
    assert done.returncode == Exit.INPUT
    for said in ("synthetic.xlsx: [not-named]", "rows: [not-named]", "model.json: [link]", "nowhere.csv: [link]"):
        assert said in done.stderr


def test_verify_says_so_if_page_and_sentences_are_not_those_that_this_version_makes(release):
    assert "NOT" not in privity("verify", release).stdout
    (release / "report.html").write_text("<script>alert(1)</script>")
    digested(release, "report.html")
    done = privity("verify", release)
    assert "The page report.html: NOT as this version of Privity makes them" in done.stdout
    assert "The sentences in privacy.json: as this version" in done.stdout
    privacy = json.loads((release / "privacy.json").read_text())
    (release / "privacy.json").write_text(json.dumps({**privacy, "in_words": ["Nobody loses anything."]}))
    digested(release, "privacy.json")
    assert "The sentences in privacy.json: NOT as this version" in privity("verify", release).stdout


def test_a_folder_without_run_json_names_what_else_is_missing(release):
    (release / "run.json").unlink()
    (release / "model.json").unlink()
    done = privity("verify", release)
    assert done.returncode == Exit.INPUT
    assert "run.json" in done.stderr
    assert "model.json: [missing]" in done.stderr


def test_an_export_is_written_whole_and_over_nothing(release, tmp_path):
    done = privity("export", release, "--to", "mbi", "--out", tmp_path / "m.json")
    assert done.returncode == Exit.DONE, done.stderr
    assert "noisy marginals written" in done.stdout
    assert json.loads((tmp_path / "m.json").read_text())["rows"] == 1500
    again = privity("export", release, "--to", "dpsynth", "--out", tmp_path / "m.json")
    assert again.returncode == Exit.INPUT
    assert "exists already" in again.stderr


@pytest.mark.process
def test_a_process_says_of_damage_what_the_library_does(release, tmp_path):
    (release / "model.json").unlink()
    done = in_a_process("sample", release, "--rows", "5", "--out", tmp_path / "a.csv")
    assert done.returncode == Exit.INPUT
    assert "model.json: [missing]" in done.stderr
    assert "Traceback" not in done.stderr
