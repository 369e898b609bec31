"""Figures of a release that must agree: each is changed alone, and named; what a curator states too low is found."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest

from privity.common.errors import Catalogue, ProblemsFound
from privity.common.protocol.evaluation_scores import Evaluation
from privity.common.release.release_contents import MARGINALS, PRIVACY, RUN, SCORES
from privity.common.release.release_folder import read_release
from privity.common.release.report.report_page import report_of
from privity.common.release.statement import in_words
from privity.common.release.verification.release_verification import check_release
from privity.releases import Release
from tests.harness.consortium import make_consortium

Documents = dict[str, dict[str, Any]]
Change = Callable[[Documents], None]


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Of three parties; measured, selected and scored."""
    folder = tmp_path_factory.mktemp("made") / "release"
    consortium = make_consortium(3, domain=(2, 3, 2), rows=40)
    consortium.drive(folder, algorithm="dp-subn", epsilon=Fraction(2), evaluation=Evaluation(Fraction(1, 10)))
    return folder


def changed(made: Path, folder: Path, change: Change) -> Path:
    """The release with its documents changed, under the digests that a forger would give it."""
    folder.mkdir()
    documents = {name: json.loads((made / name).read_text()) for name in (RUN, PRIVACY, MARGINALS, SCORES)}
    change(documents)
    for file in made.iterdir():
        content = json.dumps(documents[file.name]).encode() if file.name in documents else file.read_bytes()
        (folder / file.name).write_bytes(content)
    for name in documents[RUN]["files"]:
        documents[RUN]["files"][name] = hashlib.sha256((folder / name).read_bytes()).hexdigest()
    (folder / RUN).write_text(json.dumps(documents[RUN]))
    return folder


def said(check: Callable[[], object]) -> set[str]:
    with pytest.raises(ProblemsFound) as found:
        check()
    return {f"{Path(problem.file).name} {problem.field}" for problem in found.value.problems}


def test_an_honest_release_agrees(made: Path, tmp_path: Path) -> None:
    assert check_release(changed(made, tmp_path / "same", lambda documents: None))
    kinds = {key for charge in json.loads((made / RUN).read_text())["charges"] for key in charge}
    assert {"tables", "selections", "scores"} <= kinds


def put(name: str, *path: str | int, value: Any) -> Change:
    def change(documents: Documents) -> None:
        at: Any = documents[name]
        for step in path[:-1]:
            at = at[step]
        at[path[-1]] = value

    return change


PAIRS: dict[str, Change] = {
    "privacy.json run": put(PRIVACY, "run", value="another"),
    "privacy.json K": put(PRIVACY, "K", value=4),
    "privacy.json t": put(RUN, "tolerate", value=0),
    "privacy.json parties[0].epsilon_per_row": put(PRIVACY, "parties", 0, "epsilon_per_row", value="1/9"),
    "privacy.json parties[0].epsilon_per_person": put(PRIVACY, "parties", 0, "epsilon_per_person", value="1/9"),
    "privacy.json parties[0].delta_per_person": put(PRIVACY, "parties", 0, "delta_per_person", value="1/9"),
    "privacy.json phases[0].epsilon_per_row": put(PRIVACY, "phases", 0, "epsilon_per_row", value="1/9"),
    "privacy.json phases[0].paid_by": put(PRIVACY, "phases", 0, "paid_by", value=[]),
    "privacy.json observers[0].epsilon": put(PRIVACY, "observers", 0, "epsilon", value="1/9"),
    "privacy.json observers[1].guarantee": put(PRIVACY, "observers", 1, "guarantee", value="pure"),
    "privacy.json rows_per_person": put(PRIVACY, "rows_per_person", value=2),
    "privacy.json parties": put(RUN, "epsilon", value="1"),
    "privacy.json simulation": put(PRIVACY, "simulation", value=False),
    "privacy.json phases[0].phase": put(RUN, "charges", 0, "phase", value="another"),
    "run.json charges[0].paid_by": put(RUN, "charges", 0, "paid_by", value=["party-1", "somebody"]),
    "run.json attributes": put(RUN, "attributes", value=["a"]),
    "run.json evaluation": put(RUN, "evaluation", value=None),
    "marginals.json noise_variables": put(MARGINALS, "noise_variables", value="1"),
    "marginals.json tables[0].scale": put(MARGINALS, "tables", 0, "scale", value="1"),
    "marginals.json tables[0].rows": put(MARGINALS, "tables", 0, "rows", value=1_000_000_600),
    "marginals.json tables[0].variance": put(MARGINALS, "tables", 0, "variance", value=1.0),
    "marginals.json tables[0].half_width": put(MARGINALS, "tables", 0, "half_width", value=0),
    "marginals.json tables": lambda documents: documents[MARGINALS]["tables"].pop(),
    "scores.json epsilon": put(SCORES, "epsilon", value="1/100"),
    "scores.json rows": put(SCORES, "rows", value=7),
    "scores.json scale": put(SCORES, "scale", value="1"),
    "scores.json noise_variables": put(SCORES, "noise_variables", value="1"),
    "scores.json scores": lambda documents: documents[SCORES]["scores"].pop(),
    "scores.json schema_digest": put(SCORES, "schema_digest", value="0" * 64),
}


@pytest.mark.parametrize("value", ["1/0", "0", "", "2/4"])
@pytest.mark.parametrize("key", ["epsilon", "scale", "delta"])
def test_a_charge_that_no_mechanism_has_is_named(made: Path, tmp_path: Path, key: str, value: str) -> None:
    folder = changed(made, tmp_path / "release", put(RUN, "charges", 0, key, value=value))
    assert said(lambda: check_release(folder)) & {"privacy.json ", f"run.json charges[0].{key}"}


@pytest.mark.parametrize("more", [{"tables": {"1": 1 << 50}}, {"selection": "NoisyMax", "selections": 1 << 50}])
def test_charges_that_would_take_long_to_price_are_refused(made: Path, tmp_path: Path, more: dict[str, Any]) -> None:
    charge = {"phase": "p", "paid_by": ["party-1"], **more}
    folder = changed(made, tmp_path / "release", lambda documents: documents[RUN]["charges"].append(charge))
    assert "privacy.json " in said(lambda: check_release(folder))


@pytest.mark.parametrize("where", PAIRS)
def test_each_pair_is_compared(made: Path, tmp_path: Path, where: str) -> None:
    folder = changed(made, tmp_path / "release", PAIRS[where])
    assert where in said(lambda: check_release(folder))


def test_whoever_reads_a_release_compares_them(made: Path, tmp_path: Path) -> None:
    """Parties of a billion rows beside marginals of a hundred: in ``verify``, the report and ``Release`` alike."""
    folder = changed(made, tmp_path / "release", put(PRIVACY, "parties", 0, "rows", value=1_000_000_000))
    for read in (check_release, read_release, report_of, Release):
        assert "marginals.json tables[0].rows" in said(lambda read=read: read(folder))


@pytest.mark.parametrize(
    ("where", "change"),
    [
        ("marginals.json tables", put(MARGINALS, "tables", 0, "counts", 0, value=-70_000)),
        ("marginals.json tables", put(MARGINALS, "tables", 0, "counts", 0, value=-(2**63))),
        ("scores.json scores", put(SCORES, "scores", 0, "sum", value=-70_000)),
        ("scores.json scores", put(SCORES, "scores", 0, "sum", value=2**63 - 1)),
    ],
)
def test_sums_that_no_rows_give_are_named(made: Path, tmp_path: Path, where: str, change: Change) -> None:
    folder = changed(made, tmp_path / "release", change)
    for read in (check_release, read_release, report_of, Release):
        with pytest.raises(ProblemsFound) as found:
            read(folder)
        (problem,) = found.value.problems
        assert f"{Path(problem.file).name} {problem.field}" == where
        assert problem.rule == Catalogue.IMPLAUSIBLE_SUM.value.code


def tenth(document: Any, key: str = "") -> Any:
    """Every epsilon a tenth."""
    if isinstance(document, dict):
        return {name: tenth(value, key if key.startswith("epsilon") else name) for name, value in document.items()}
    if isinstance(document, list):
        return [tenth(one) for one in document]
    return str(Fraction(document) / 10) if key.startswith("epsilon") else document


def states_a_tenth(documents: Documents) -> None:
    documents[PRIVACY] = tenth(documents[PRIVACY])
    documents[RUN] |= {"epsilon": str(Fraction(documents[RUN]["epsilon"]) / 10)}
    documents[PRIVACY]["in_words"] = in_words(documents[PRIVACY], protected=True)


def states_it_of_the_charges_too(documents: Documents) -> None:
    states_a_tenth(documents)
    evaluation = documents[RUN]["evaluation"]
    evaluation["epsilon"] = documents[SCORES]["epsilon"] = str(Fraction(evaluation["epsilon"]) / 10)
    for charge in documents[RUN]["charges"]:
        if "scale" in charge:
            charge["scale"] = str(Fraction(charge["scale"]) * 10)
        else:
            charge["epsilon"] = str(Fraction(charge["epsilon"]) / 10)
    documents[SCORES]["scale"] = str(Fraction(documents[SCORES]["scale"]) * 10)


def test_a_curator_that_states_a_tenth_of_the_loss_is_found(made: Path, tmp_path: Path) -> None:
    said_low = said(lambda: check_release(changed(made, tmp_path / "1", states_a_tenth)))
    assert {"privacy.json parties[0].epsilon_per_row", "privacy.json observers[0].epsilon"} <= said_low
    both = said(lambda: check_release(changed(made, tmp_path / "2", states_it_of_the_charges_too)))
    assert {where.split("[")[0] for where in both} == {"marginals.json tables"}, "its noise gives it away"
