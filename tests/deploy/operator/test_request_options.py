"""A run spec that a person wrote: what is left out, every fault at once with its line, and options beside it."""

from __future__ import annotations

import json
from fractions import Fraction
from pathlib import Path

import pytest

from privity.common.data.schema import parse_schema
from privity.common.errors import PrivityError, ProblemsFound
from privity.common.protocol.secure_sum_method import MASKS, PAILLIER
from privity.common.runs.automatic_choice import RULES, with_algorithm
from privity.common.runs.run_request import parse_request
from privity.deploy.operator.request_options import read_spec, run_request


def written(folder: Path, text: str) -> Path:
    file = folder / "autumn.toml"
    file.write_text(text)
    return file


def request_of(folder: Path, text: str):
    return parse_request(json.dumps(read_spec(written(folder, text))).encode())


def test_the_shortest_spec_means_what_options_left_out_mean(tmp_path: Path) -> None:
    text = 'format_version = 1\nalgorithm = "auto"\nepsilon = "1/3"\n'
    options = run_request({"epsilon": "1/3"})
    assert request_of(tmp_path, text) == parse_request(json.dumps(options).encode())
    request = request_of(tmp_path, text)
    assert (request.epsilon, request.tolerate, request.key_bits) == (Fraction(1, 3), 1, 3072)
    assert (request.secure_sum, request.attributes) == (PAILLIER, None)


def test_an_algorithm_left_open_is_named_with_its_reason_before_anything_is_sent() -> None:
    schema = parse_schema({"fields": [{"name": name, "type": "boolean"} for name in "abc"]}, "schema")
    request = with_algorithm(run_request({"epsilon": "1"}), schema, [10_000] * 3)
    assert parse_request(json.dumps(request).encode()).automatic == request["automatic"]
    assert (request["algorithm"], request["automatic"]["rules"]) == ("all-pairs", RULES)
    named = run_request({"epsilon": "1", "algorithm": "mst"})
    assert with_algorithm(named, schema, [10_000] * 3) is named
    with pytest.raises(PrivityError, match="settings: they belong to one algorithm"):
        with_algorithm(run_request({"epsilon": "1", "settings": '{"theta": 2}'}), schema, [10_000] * 3)
    with pytest.raises(PrivityError, match="inference: it is a setting of one algorithm"):
        run_request({"epsilon": "1", "inference": "pgm"})


def test_masks_have_no_key(tmp_path: Path) -> None:
    text = 'format_version = 1\nalgorithm = "one-way"\nepsilon = "1"\nsecure_sum = "masks"\nattributes = ["a"]\n'
    request = request_of(tmp_path, text)
    assert (request.secure_sum, request.key_bits, request.attributes) == (MASKS, None, ("a",))


def test_the_parties_of_a_run_are_named_or_are_all(tmp_path: Path) -> None:
    text = 'format_version = 1\nalgorithm = "one-way"\nepsilon = "1"\nparties = ["south", "north"]\n'
    assert request_of(tmp_path, text).parties == ("south", "north")
    options = run_request({"epsilon": "1", "algorithm": "one-way", "parties": "south, north"})
    assert parse_request(json.dumps(options).encode()) == request_of(tmp_path, text)
    assert run_request({"epsilon": "1"})["parties"] is None


def test_every_fault_at_once_with_its_line(tmp_path: Path) -> None:
    file = written(
        tmp_path,
        'format_version = 1\nalgorithm = "magic"\nepsilon = "-1"\ntolerate = 0\n\ncolour = "red"\nattributes = []\n',
    )
    with pytest.raises(ProblemsFound) as caught:
        read_spec(file)
    found = {(problem.field, problem.line) for problem in caught.value.problems}
    assert found == {("algorithm", 2), ("epsilon", 3), ("tolerate", 4), ("colour", 6), ("attributes", 7)}
    assert all(problem.remedy for problem in caught.value.problems)
    assert f"{file}:2: algorithm: [known] 'magic' is no algorithm." in caught.value.message


def test_options_beside_a_file_are_refused_and_so_is_nothing_at_all(tmp_path: Path) -> None:
    file = written(tmp_path, 'format_version = 1\nalgorithm = "dp-subn"\nepsilon = "1"\n')
    with pytest.raises(PrivityError, match="options are given that the file"):
        run_request({"spec": file, "epsilon": "1"})
    with pytest.raises(PrivityError, match="epsilon: it is left out"):
        run_request({})
    with pytest.raises(PrivityError, match="no such file"):
        run_request({"spec": tmp_path / "none"})
