"""Single-party mode: fit charges a ledger, sample gives rows, the command writes a release."""

import hashlib
import inspect
import json
import pickle
import pydoc
import subprocess
import sys
import warnings
from fractions import Fraction
from importlib import metadata

import pandas as pd
import pytest
from sklearn.base import clone

import privity as privity_package
from privity import (
    AIM,
    DPSUBN,
    GaussianCopula,
    Independent,
    JTree,
    NotFittedError,
    OneWay,
    Release,
    Synthesizer,
    declare_population,
    load_model,
    simulate,
    synthesizers,
)
from privity.common.errors import PrivityError, ProblemsFound
from privity.common.exit_codes import Exit
from privity.common.formats import require
from privity.common.privacy.budget import readable
from privity.common.privacy.ledger import Ledger
from privity.common.release.release_contents import RELEASE_FILES
from privity.common.release.release_folder import verify_release
from privity.common.synthesis.algorithm_settings import declared
from privity.common.synthesis.algorithms import ALGORITHMS
from privity.synthesizers import SYNTHESIZERS
from tests.harness.command import privity
from tests.harness.ledgers import charges
from tests.harness.tables import FIELDS, people, write_people

SCHEMA = {"name": "people", "fields": FIELDS}


@pytest.fixture(autouse=True)
def state(tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    return tmp_path / "state"


@pytest.mark.parametrize("kind", [DPSUBN, OneWay])
def test_fit_and_sample(kind, state):
    declare_population("patients", total_epsilon="10")
    fitted = kind("1.5", population="patients").fit(people(400), SCHEMA)
    sample = fitted.sample(50, seed=3)
    assert list(sample.columns) == [f["name"] for f in FIELDS]
    assert len(sample) == 50
    pd.testing.assert_frame_equal(sample, fitted.sample(50, seed=3))
    assert not sample.equals(fitted.sample(50, seed=4))
    assert fitted.spent_.epsilon == Fraction(3, 2)
    assert (state / "privity" / "ledgers" / "patients.sqlite").exists()


def test_a_rule_that_a_model_can_hardly_keep_is_told_before_the_spend(tmp_path, state):
    wide = {"type": "integer", "constraints": {"minimum": 0, "maximum": 100_000}, "bins": 10}
    schema = {"fields": [{"name": name, **wide} for name in ("low", "high")], "rowConstraints": ["low == high"]}
    rows = pd.DataFrame({"low": range(300), "high": range(300)})
    unspent = tmp_path / "ledger.sqlite"
    declare_population("people", total_epsilon="1", ledger=unspent)
    fit = OneWay("2", population="people", ledger=unspent)
    with (
        pytest.warns(UserWarning, match="^Rule low == high: hardly any") as told,
        pytest.raises(PrivityError) as refused,
    ):
        fit.fit(rows, schema)
    assert refused.value.code == "budget-exhausted"
    assert [each.filename for each in told] == [__file__]
    with pytest.warns(UserWarning, match="^Rule low == high: hardly any") as told, pytest.raises(PrivityError):
        simulate(rows, schema, epsilon=1, rows=10**6, progress=False)
    assert [each.filename for each in told] == [__file__]
    with warnings.catch_warnings():  # the command tells it itself
        warnings.simplefilter("error")
        OneWay("1", population="people", ledger=unspent).learn(rows, schema, out=tmp_path / "out")


def test_a_fit_is_published_as_a_release_like_that_of_the_command(tmp_path):
    declare_population("patients", total_epsilon="10")
    fitted = Synthesizer("2", population="patients").fit(people(400), SCHEMA)
    release = fitted.release(tmp_path / "release")
    assert isinstance(release, Release)
    assert {path.name for path in (tmp_path / "release").iterdir()} == {*RELEASE_FILES}
    assert len(release.rows) == 400
    assert release.run["algorithm"] == fitted.algorithm_
    assert release.run["automatic"]["reason"]
    assert len(fitted.release(tmp_path / "short", rows=50).rows) == 50
    assert fitted.spent_.epsilon == 2, "a release costs no more than its fit"
    with pytest.raises(PrivityError, match=r"folder: .* exists already"):
        fitted.release(tmp_path / "release")
    again = pickle.loads(pickle.dumps(fitted)).release(tmp_path / "again")
    assert again.run["run"] == release.run["run"]
    with pytest.raises(NotFittedError):
        AIM("1", population="patients").release(tmp_path / "never")


@pytest.mark.process
def test_a_saved_fit_is_sampled_and_published_by_another_process(tmp_path):
    declare_population("patients", total_epsilon="10")
    fitted = AIM("2", population="patients", analyses=["smoker ~ ward"]).fit(people(2000), SCHEMA)
    fitted.save(tmp_path / "fit")
    script = "import sys, privity; print(len(privity.load_model(sys.argv[1]).release(sys.argv[2], rows=70).rows))"
    command = [sys.executable, "-c", script, str(tmp_path / "fit"), str(tmp_path / "release")]
    assert subprocess.run(command, check=True, capture_output=True, text=True).stdout == "70\n"
    release, again = Release(tmp_path / "release"), load_model(tmp_path / "fit")
    assert release.verify()
    assert release.run["run"] == fitted.fitted.learnt.run["run"]
    assert release.analyses is not None
    assert Release(tmp_path / "fit").statement.document == release.statement.document
    assert again.sample(5, seed=1).equals(fitted.sample(5, seed=1))
    assert load_model(tmp_path / "fit" / "model.json").sample(5, seed=1).equals(again.sample(5, seed=1))
    with pytest.raises(PrivityError, match="has its rows"):
        load_model(tmp_path / "release").release(tmp_path / "twice")
    with pytest.raises(PrivityError, match=r"folder: .* exists already"):
        fitted.save(tmp_path / "fit")
    assert privity_package.Ledger("patients").spent == 2


def test_what_is_published_of_a_saved_fit_is_what_was_paid_for(tmp_path):
    declare_population("patients", total_epsilon="10")
    OneWay("1", population="patients").fit(people(200), SCHEMA).save(tmp_path / "fit")
    ruled = {**SCHEMA, "rowConstraints": ["age >= 30"]}
    with pytest.raises(PrivityError, match="under another schema"):
        load_model(tmp_path / "fit", ruled).release(tmp_path / "ruled")
    privacy, run = (json.loads((tmp_path / "fit" / name).read_text()) for name in ("privacy.json", "run.json"))
    said, privacy["in_words"] = privacy["in_words"], ["This is perfectly private."]
    (tmp_path / "fit" / "privacy.json").write_text(json.dumps(privacy))
    run["files"]["privacy.json"] = hashlib.sha256((tmp_path / "fit" / "privacy.json").read_bytes()).hexdigest()
    (tmp_path / "fit" / "run.json").write_text(json.dumps(run))
    assert list(load_model(tmp_path / "fit").release(tmp_path / "release").statement.sentences) == said


def test_a_fit_beside_another_of_the_same_object_publishes_its_own(tmp_path, monkeypatch):
    declare_population("patients", total_epsilon="10")
    model = OneWay("1", population="patients")
    finish = synthesizers.publish

    def late(learnt, out):
        model.fit(people(100), SCHEMA)  # as another thread would
        return finish(learnt, out)

    monkeypatch.setattr(synthesizers, "publish", late)
    model.fit(people(300), SCHEMA, out=tmp_path / "release")
    release = Release(tmp_path / "release")
    assert len(release.rows) == 300
    assert model.fitted.learnt.run["run"] != release.run["run"]


def test_the_first_mistakes_are_explained():
    with pytest.raises(PrivityError, match=r'Declare them once, declare_population\("NAME"'):
        AIM(1)
    with pytest.raises(PrivityError, match=r"Draft one, and check it: Schema\.draft\(TABLE\)"):
        AIM(1, population="patients").fit(people(9))


def test_it_has_the_habits_of_scikit_learn(tmp_path):
    declare_population("patients", total_epsilon="10")
    model = AIM("1/2", population="patients", tables=3)
    assert len(model.fit_sample(people(300), SCHEMA)) == len(model.sample()) == 300
    assert model.get_params() == {"epsilon": "1/2", "population": "patients", "delta": 0, "ledger": None, "tables": 3}
    copied = clone(model)
    assert copied.get_params() == model.get_params()
    with pytest.raises(NotFittedError):
        copied.sample()
    release = model.set_params(epsilon=1, tables=None).release(tmp_path / "release", rows=40)
    assert (release.run["epsilon"], release.run["settings"]["tables"]) == ("1/2", 3), "what was fitted stays"
    assert len(release.sample()) == 40
    assert (model.epsilon, model.settings["tables"]) == (1, None)
    with pytest.raises(ProblemsFound, match="there is no such setting"):
        model.set_params(trees=3)


def test_a_fit_with_a_folder_is_published_at_once_and_only_then(tmp_path):
    declare_population("patients", total_epsilon="10")
    model = OneWay("1", population="patients")
    fitted = model.fit(people(300), SCHEMA, out=tmp_path / "release")
    assert fitted is model
    assert Release(tmp_path / "release").run["algorithm"] == "one-way"
    with pytest.raises(PrivityError, match=r"out: .* exists already"):
        model.fit(people(300), SCHEMA, out=tmp_path / "release")
    assert model.spent_.epsilon == 1
    model.fit(people(300), SCHEMA)
    assert [path.name for path in tmp_path.iterdir() if path.name != "state"] == ["release"]


def test_the_version_is_that_of_the_package():
    assert metadata.version("privity") == privity_package.__version__


def test_the_repr_tells_settings_and_what_was_spent():
    declare_population("patients", total_epsilon="10")
    model = DPSUBN("1", population="patients", largest_degree=2)
    assert repr(model) == "DPSUBN(epsilon=1, population='patients', largest_degree=2; not fitted)"
    model.fit(people(200), SCHEMA)
    model.fit(people(200), SCHEMA)
    assert repr(model).startswith(
        "DPSUBN(epsilon=1, population='patients', largest_degree=2; fitted; 2 of epsilon 10 spent so far; "
    )
    assert "of 5 attributes are modelled alone" in repr(model)


@pytest.mark.parametrize("kind", [kind for kind in SYNTHESIZERS.values() if issubclass(kind, Synthesizer)])
def test_python_shows_the_settings_of_each_class_with_their_defaults(kind):
    shared = list(inspect.signature(Synthesizer).parameters)[:-1]
    shown = inspect.signature(kind).parameters
    settings = declared(ALGORITHMS[kind.algorithm].settings)
    assert list(shown) == [*shared, *settings]
    assert all(shown[name].default == setting.default for name, setting in settings.items())
    text = pydoc.render_doc(kind, renderer=pydoc.plaintext)
    assert all(f"    {name}: {setting.told}\n" in text for name, setting in settings.items())


def test_settings_are_keyword_arguments_of_the_kinds_that_a_run_spec_has():
    told = inspect.signature(AIM).parameters
    assert (told["selecting"].default, told["selecting"].annotation) == ("1/10", "Number")
    assert (told["tables"].default, told["tables"].annotation) == (None, "int | None")
    declare_population("patients", total_epsilon="10")
    fitted = AIM("1", population="patients", tables=2, selecting="1/5").fit(people(200), SCHEMA)
    assert len([phase for phase, _ in fitted.record_.measured if phase == "selected tables"]) == 2
    assert fitted.settings == {"tables": 2, "selecting": "1/5"}
    Independent("1", population="patients", privbayes={"theta": "3"}).fit(people(200), SCHEMA)


def test_a_keyword_argument_that_there_is_not_is_refused_with_those_that_there_are():
    with pytest.raises(
        ProblemsFound, match=r"settings of aim: round: .*Known: one_way, selecting, tables, target, analyses, cells"
    ) as caught:
        AIM("1", population="patients", round=2, settings={})
    assert [problem.field for problem in caught.value.problems] == ["round", "settings"]


@pytest.mark.process
def test_a_setting_of_the_command_that_has_the_name_of_an_argument_is_unknown(tmp_path):
    table, schema = write_people(tmp_path, 50)
    given = ["--data", table, "--schema", schema, "--epsilon", "1", "--population", "p", "--out", tmp_path / "release"]
    done = privity(
        "synthesize", *given, "--algorithm", "dp-subn", "--settings", json.dumps({"epsilon": "2", "theta": -7})
    )
    assert done.returncode == Exit.INPUT
    assert "epsilon: [unknown]" in done.stderr
    assert "theta: [weight]" in done.stderr


def test_two_fits_draw_different_noise():
    declare_population("patients", total_epsilon="10")
    model = OneWay("0.1", population="patients")
    first = model.fit(people(300), SCHEMA).record_.measured[0][1].counts
    second = model.fit(people(300), SCHEMA).record_.measured[0][1].counts
    assert (first != second).any()


def test_the_total_is_kept_over_fits_and_objects(tmp_path):
    file = tmp_path / "mine.sqlite"
    declare_population("patients", total_epsilon="1", ledger=file)
    OneWay("0.75", population="patients", ledger=file).fit(people(100), SCHEMA)
    again = DPSUBN("0.5", population="patients", ledger=file)
    with pytest.raises(PrivityError, match=r"asked 0\.5, 0\.25 left of 1 "):
        again.fit(people(100), SCHEMA)
    assert Ledger(file, "patients").spent() == Fraction(3, 4)
    with pytest.raises(PrivityError, match="belongs to population 'patients'"):
        OneWay("0.1", population="others", ledger=file).fit(people(100), SCHEMA)


def test_a_fit_that_fails_before_it_asks_costs_nothing(tmp_path):
    file = tmp_path / "mine.sqlite"
    declare_population("p", total_epsilon="1", ledger=file)
    with pytest.raises(ProblemsFound):
        OneWay("1", population="p", ledger=file).fit(people(10).assign(ward="east"), SCHEMA)
    with pytest.raises(ProblemsFound):
        OneWay("1", population="p", ledger=file, depth=1).fit(people(10), SCHEMA)
    with pytest.raises(ProblemsFound):
        DPSUBN("1", population="p", ledger=file, theta="-1").fit(people(10), SCHEMA)
    assert charges(Ledger(file, "p")) == []


def test_people_who_were_not_declared_have_no_budget(tmp_path):
    file = tmp_path / "mine.sqlite"
    with pytest.raises(PrivityError, match="the population 'p' is not declared") as caught:
        OneWay("1", population="p", ledger=file).fit(people(10), SCHEMA)
    assert caught.value.code == "population-undeclared"
    assert not file.exists()


@pytest.mark.process
def test_the_command_writes_a_release_and_prints_the_running_total(tmp_path):
    table, schema = write_people(tmp_path, 300)
    ledger = tmp_path / "ledger.sqlite"
    declared = privity("population", "declare", "patients", "--total-epsilon", "1", "--ledger", ledger)
    assert declared.returncode == 0, declared.stderr
    arguments = ["synthesize", "--data", table, "--schema", schema, "--epsilon", "0.5", "--population", "patients"]
    for number in (1, 2):
        done = privity(*arguments, "--ledger", ledger, "--out", tmp_path / f"release-{number}")
        assert done.returncode == 0, done.stderr
        assert f"epsilon 0.5 now, {readable(Fraction(number, 2))} of 1 in all" in done.stdout
    release = tmp_path / "release-1"
    verify_release(release)
    assert sorted(p.name for p in release.iterdir()) == sorted(RELEASE_FILES)
    privacy = json.loads((release / "privacy.json").read_text())
    require(privacy, "privacy", "privacy.json")
    assert [o["observer"] for o in privacy["observers"]] == ["public"]
    assert privacy["simulation"] is False
    done = privity(*arguments, "--ledger", ledger, "--out", tmp_path / "release-3")
    assert done.returncode == Exit.BUDGET
    assert "asked 0.5, 0 left of 1 " in done.stderr
    assert not (tmp_path / "release-3").exists()
    shown = privity("party", "ledger", "--file", ledger, "--population", "patients")
    assert shown.returncode == 0
    assert "epsilon 1 spent" in shown.stdout


@pytest.mark.statistical
def test_a_delta_is_charged_and_told(tmp_path):
    ledger = tmp_path / "ledger"
    declare_population("patients", total_epsilon="10", total_delta="1/1000", ledger=ledger)
    fitted = GaussianCopula("1", delta="1/1048576", population="patients", ledger=ledger).fit(people(200), SCHEMA)
    again = GaussianCopula("1", delta="1/1048576", population="patients", ledger=ledger).fit(people(200), SCHEMA)
    assert (fitted.spent_.epsilon, fitted.spent_.delta) == (1, Fraction(1, 2**20))
    assert (again.spent_.epsilon, again.spent_.delta) == (2, Fraction(2, 2**20))
    assert repr(fitted).startswith(
        "GaussianCopula(epsilon=1, delta=9.53674e-7, population='patients'; fitted; 1 of epsilon 10 spent so far"
    )
    assert {table.law.name for _, table in fitted.record_.measured} == {"discrete Gaussian"}


@pytest.mark.parametrize(
    ("kind", "delta", "settings", "said"),
    [
        (GaussianCopula, "0.000001", {"composition": "basic"}, "basic composition spends no delta"),
        (GaussianCopula, "0", {"composition": "zcdp"}, "the composition zcdp needs a delta above 0"),
    ],
)
def test_a_delta_that_does_not_go_with_the_rest_is_refused_before_anything_is_spent(
    tmp_path, kind, delta, settings, said
):
    ledger = tmp_path / "ledger"
    declare_population("p", total_epsilon="10", total_delta="1/1000", ledger=ledger)
    with pytest.raises(PrivityError, match=said) as caught:
        kind("1", delta=delta, population="p", ledger=ledger, **settings).fit(people(50), SCHEMA)
    assert caught.value.code == "bad-option"
    assert charges(Ledger(ledger, "p")) == []


@pytest.mark.parametrize("kind", [DPSUBN, JTree, OneWay])
def test_any_algorithm_spends_a_delta_and_has_less_noise_for_it(tmp_path, kind):
    given = {"population": "p", "ledger": tmp_path / "ledger"}
    declare_population("p", total_epsilon="1", total_delta="0.000001", ledger=given["ledger"])
    fitted = kind("1", delta="0.000001", **given).fit(people(200), SCHEMA)
    assert fitted.charged_ == fitted.record_.of_a_person("owner", 1)
    assert Fraction(999, 1000) < fitted.charged_.epsilon <= 1
    assert fitted.charged_.delta == Fraction(1, 10**6)
    assert {table.law.name for _, table in fitted.record_.measured} == {"discrete Gaussian"}
    if kind is not OneWay:
        assert any("exponential mechanism (bounded range)" in cost.mechanism for cost in fitted.record_.costs)


def test_a_total_of_delta_is_kept(tmp_path):
    given = {"delta": "1/1000000", "population": "p", "ledger": tmp_path / "ledger"}
    declare_population("p", total_epsilon="10", total_delta="3/2000000", ledger=given["ledger"])
    GaussianCopula("1", **given).fit(people(50), SCHEMA)
    with pytest.raises(PrivityError, match=r"asked delta 0\.000001, 5e-7 left of 1\.5e-6 "):
        GaussianCopula("1", **given).fit(people(50), SCHEMA)


@pytest.mark.parametrize("delta", ["1", "0.0011", "-1", "1e-2", "x", "1/0"])
def test_a_delta_that_is_none_is_refused(delta):
    with pytest.raises(PrivityError, match=r"not a number from 0 to 0\.001"):
        GaussianCopula("1", delta=delta, population="p")
