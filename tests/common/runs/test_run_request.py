"""An option of a run is declared once: the format, commands, Python and plans follow from the declaration."""

from __future__ import annotations

import inspect
import json
from contextlib import suppress
from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

import privity
from privity.common import formats
from privity.common.crypto.residues import Exponents
from privity.common.errors import PrivityError
from privity.common.protocol.declared_options import Taker, options_of
from privity.common.protocol.run_spec import RunSpec
from privity.common.protocol.run_terms import RunTerms
from privity.common.protocol.secure_sum_method import MASKS, Method
from privity.common.runs.run_request import (
    KEY_BITS,
    OPTIONS,
    RunRequest,
    parse_request,
    request_document,
    request_schema,
)
from privity.connections import Consortium
from privity.interfaces.cli.run import submit
from privity.interfaces.cli.simulate import simulate_command
from privity.interfaces.cli.synthesize import synthesize_command

NAMES = st.text(st.characters(categories=["L", "N"]), min_size=1, max_size=8)
PAILLIER_OPTIONS = {
    "secure_sum": st.just(Method.PAILLIER),
    "exponents": st.sampled_from([each.value for each in Exponents]),
    "key_bits": st.sampled_from(KEY_BITS),
}
EPSILON = {"epsilon": st.sampled_from(["0.5", "1/3", 2, 0.25, Fraction(7, 3)])}
ASKED = {
    "algorithm": st.sampled_from(["aim", "one-way"]),
    "delta": st.sampled_from(["0", "1e-9", 1e-6]),
    "tolerate": st.integers(1, 5),
    "settings": st.sampled_from([{}, {"tables": 3}, '{"selecting": 0.25}']),
    "attributes": st.lists(NAMES, min_size=1, max_size=3, unique=True),
    "parties": st.one_of(st.just("north, south"), st.just(["north", "south"])),
    "evaluation_epsilon": st.just("0.1"),
    "evaluation_targets": st.lists(NAMES, max_size=2, unique=True),
    "rows": st.integers(1, 10_000),
}


def test_the_format_is_what_the_options_declare() -> None:
    assert formats.load("run_request") == request_schema()


@given(st.fixed_dictionaries(EPSILON, optional={**ASKED, **PAILLIER_OPTIONS}))
def test_what_is_asked_fits_the_format_and_is_read_as_it_was_asked(asked) -> None:
    if "evaluation_epsilon" not in asked:
        asked.pop("evaluation_targets", None)
    document = request_document(asked)
    formats.require(document, "run_request", "a request")
    read = parse_request(json.dumps(document).encode())
    assert read.epsilon == Fraction(str(asked["epsilon"]))
    assert request_document({"epsilon": "1", **flat(read.asked()), **plain(read)}) == {
        **document,
        "epsilon": str(read.epsilon),
        "delta": str(read.delta),
        "evaluation": read.asked()["evaluation"],
    }


def flat(document):
    evaluation = document.pop("evaluation") or {}
    return {**document, **{f"evaluation_{key}": value for key, value in evaluation.items()}}


def plain(read):
    return {"key_bits": read.key_bits, "rows": read.rows, "parties": read.parties and list(read.parties)}


@given(st.fixed_dictionaries(EPSILON, optional={**ASKED, **PAILLIER_OPTIONS}))
def test_a_plan_holds_what_was_asked_and_nothing_else_is_read_as_one(asked) -> None:
    if "evaluation_epsilon" not in asked:
        asked.pop("evaluation_targets", None)
    terms = parse_request(json.dumps(request_document(asked)).encode()).terms()
    spec = RunSpec(run="run-1", members=("a", "b"), manifest_digest="0" * 64, **terms)
    content = json.loads(json.dumps(spec.to_dict()))
    assert RunSpec.from_dict(content) == spec
    for name, value in content.items():
        for other in (f"{value} ", [value], {"x": value}, 1.5):
            with suppress(ValueError, TypeError, KeyError):
                changed = {**content, name: other}
                assert RunSpec.from_dict(changed).to_dict() == changed
        with pytest.raises((ValueError, TypeError, KeyError)):
            RunSpec.from_dict({key: kept for key, kept in content.items() if key != name})


def test_masks_have_neither_a_key_nor_exponents() -> None:
    assert (
        parse_request(json.dumps(request_document({"epsilon": 1, "secure_sum": "masks"})).encode()).secure_sum == MASKS
    )
    for name, value in (("key_bits", 3072), ("exponents", "half")):
        with pytest.raises(PrivityError, match=f"{name.replace('_', '-')}: masks have n"):
            request_document({"epsilon": 1, "secure_sum": "masks", name: value})


def test_targets_need_a_share_of_epsilon() -> None:
    with pytest.raises(PrivityError, match="evaluation-target: no epsilon is given for it"):
        request_document({"epsilon": 1, "evaluation_targets": ["a"]})


@pytest.mark.parametrize(
    ("taker", "command", "python"),
    [
        (Taker.SUBMIT, submit, Consortium.submit),
        (Taker.PLAN, None, Consortium.plan),
        (Taker.SIMULATE, simulate_command, privity.simulate),
        (Taker.SYNTHESIZE, synthesize_command, None),
    ],
)
def test_commands_and_python_take_every_option_that_is_declared_for_them(taker, command, python) -> None:
    declared = set(options_of(RunRequest, taker))
    assert {"algorithm", "epsilon", "delta", "settings"} <= declared
    for function in filter(None, (command, python)):
        assert declared <= set(inspect.signature(function).parameters)
    if python is not None:
        assert "{options}" not in python.__doc__


def test_every_option_says_what_it_is_and_some_are_bound_into_plans() -> None:
    assert set(options_of(RunTerms)) < set(OPTIONS)
    assert all(len(option.meaning) > 10 for option in OPTIONS.values())
