"""What ``privity algorithms`` prints of a setting is what is read; docs/algorithms/settings.md is what it writes."""

from __future__ import annotations

import json
import re
from fractions import Fraction
from typing import Any

import pytest
from typer.testing import CliRunner

from privity.common.errors import PrivityError, ProblemsFound
from privity.common.synthesis.algorithms import ALGORITHMS
from privity.interfaces.cli.main import app
from tests.harness.consortium import make_schema
from tests.harness.places import ROOT

SCHEMA = make_schema([2, 2, 2])
NAMES = sorted(ALGORITHMS)


def told(*arguments: str) -> str:
    done = CliRunner().invoke(app, ["algorithms", *arguments])
    assert done.exit_code == 0, done.output
    return done.stdout


def printed(name: str) -> dict[str, list[str]]:
    """Type, range, default and meaning of each setting."""
    rows = [[cell.strip() for cell in line.strip("│").split("│")] for line in told(name).split("\n") if line[:1] == "│"]
    return {setting: cells for setting, *cells in rows}


def read(algorithm: str, setting: str, value: Any) -> Any:
    return getattr(ALGORITHMS[algorithm].read({setting: value}, SCHEMA), setting)


def refused(algorithm: str, setting: str, value: Any) -> bool:
    with pytest.raises(ProblemsFound) as caught:
        read(algorithm, setting, value)
    return [problem.field for problem in caught.value.problems] == [setting]


def test_the_list_names_every_algorithm_with_what_it_is() -> None:
    listed = told()
    for name, algorithm in ALGORITHMS.items():
        assert re.search(rf"│ {name} +│ {re.escape(algorithm.title)} +│", listed)


@pytest.mark.parametrize("name", NAMES)
def test_an_algorithm_is_told_with_its_paper_and_all_settings(name: str) -> None:
    algorithm = ALGORITHMS[name]
    assert told(name).startswith(f"{algorithm.title}\n{f'Paper: {algorithm.paper}.' if algorithm.paper else ''}")
    assert list(printed(name)) == list(algorithm.settings.__dataclass_fields__)
    assert all(all(cells) for cells in printed(name).values())


@pytest.mark.parametrize("name", NAMES)
def test_the_range_that_is_printed_is_what_is_read(name: str) -> None:
    for setting, (kind, allowed, _, _) in printed(name).items():
        if kind == "whole number":
            smallest, words = allowed.split(" to ")
            assert read(name, setting, int(smallest)) == int(smallest)
            assert refused(name, setting, int(smallest) - 1)
            # Where the words are of the schema: it has three attributes, and as many pairs of them.
            largest = {"attributes less one": 2, "the number of pairs": 3}.get(words) or int(words)
            assert read(name, setting, largest) == largest
            assert refused(name, setting, largest + 1)
        elif kind == "exact number, as text":
            zero, largest_text = re.fullmatch(r"(0 to|above 0, at most) ([0-9/]+)", allowed).groups()  # type: ignore[union-attr]
            assert read(name, setting, largest_text) == Fraction(largest_text)
            assert refused(name, setting, str(Fraction(largest_text) + Fraction(1, 1000)))
            assert read(name, setting, "0") == 0 if zero == "0 to" else refused(name, setting, "0")
        elif kind == "JSON object":
            assert read(name, setting, {}) == {}
            assert refused(name, setting, "{}")
        elif allowed == "name of an attribute":
            assert read(name, setting, SCHEMA.names[1]) == SCHEMA.names[1]
            assert refused(name, setting, "nobody")
        else:
            for option in re.findall(r'"([^,"]+)"', allowed):
                assert read(name, setting, option) == option
            assert refused(name, setting, "")


@pytest.mark.parametrize("name", NAMES)
def test_the_default_that_is_printed_is_what_holds(name: str) -> None:
    defaults = ALGORITHMS[name].read({}, SCHEMA)
    for setting, (_, _, default, _) in printed(name).items():
        if default[0] in '"0123456789':
            assert read(name, setting, json.loads(default)) == getattr(defaults, setting)
        else:
            words = re.match(r"[a-z]+(?=; )", default)
            assert getattr(defaults, setting) == (words and words[0])


def test_an_unknown_name_is_refused_with_the_names_that_there_are() -> None:
    with pytest.raises(PrivityError, match="'magic' is unknown") as caught:
        CliRunner().invoke(app, ["algorithms", "magic"], catch_exceptions=False)
    assert all(name in caught.value.remedy for name in NAMES)


def test_the_page_of_settings_is_what_the_command_writes() -> None:
    page = (ROOT / "docs" / "algorithms" / "settings.md").read_text(encoding="utf-8")
    assert page == told("--markdown"), "privity algorithms --markdown > docs/algorithms/settings.md"
