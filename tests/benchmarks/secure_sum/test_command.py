"""``python -m benchmarks.secure_sum`` as anybody runs it."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from benchmarks.secure_sum.__main__ import secure_sum_command
from privity.common.crypto.residues import Exponents
from privity.common.errors import PrivityError
from privity.common.exit_codes import Exit, exit_code
from privity.common.protocol.secure_sum_method import Method
from tests.harness.command import ROOT

pytestmark = pytest.mark.process


def measured(*options: str | Path) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "benchmarks.secure_sum", *map(str, options)]
    return subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=200)


@pytest.mark.long
def test_a_round_is_measured_and_its_sum_checked(tmp_path: Path) -> None:
    file = tmp_path / "figures.json"
    done = measured("--cells", "2000", "--parties", "2", "--key-bits", "2048", "--json", file)
    assert done.returncode == 0, done.stderr
    found = json.loads(file.read_text())
    assert found["cells"] >= 2000
    assert set(found["stages"]) == {"noise", "pack", "mask", "encrypt", "seal", "combine", "open"}
    # A ciphertext has twice the bits of its slots, the last one may be half empty, a seal adds some hundred bytes.
    assert 2 * found["slot_bits"] / 8 < found["bytes_per_cell"] < 2.5 * found["slot_bits"] / 8
    assert found["speedup_over_phe"] == pytest.approx(found["cells_per_second"] / found["phe_cells_per_second"])
    assert "speedup over phe" in done.stdout
    # Of two parties one combines: it gets both blobs and sends its own and the sum.
    assert 3.9 * found["bytes_per_cell"] < found["bytes_per_cell_of_worst_party"] < 4.1 * found["bytes_per_cell"]


@pytest.mark.long
def test_a_round_under_masks_of_more_parties_than_one_combiner_serves(tmp_path: Path) -> None:
    file = tmp_path / "figures.json"
    options = ("--cells", "150000", "--parties", "9", "--secure-sum", "masks", "--json", file)
    done = measured(*options)
    assert done.returncode == 0, done.stderr
    found = json.loads(file.read_text())
    assert (found["secure_sum"], found["key_bits"], found["exponents"]) == ("masks", None, None)
    assert found["blocks"] == 3
    assert 8 < found["bytes_per_cell"] < 8.1
    # Five blobs at most come in, its own block and its sum go out.
    assert found["bytes_per_cell_of_worst_party"] < 7 * 8.1


@pytest.mark.parametrize(
    ("option", "given"),
    [
        ("cells", {"cells": 0}),
        ("parties", {"parties": 1}),
        ("key-bits", {"key_bits": 1024}),
        ("cells", {"cells": 100_000_000}),
        ("key-bits", {"key_bits": 3072, "secure_sum": Method.MASKS}),
        ("exponents", {"exponents": Exponents.SHORT, "secure_sum": Method.MASKS}),
    ],
)
def test_what_cannot_be_measured_is_refused(option: str, given: dict[str, Any]) -> None:
    with pytest.raises(PrivityError, match=f"^{option}") as refused:
        secure_sum_command(**given)
    assert exit_code(refused.value) is Exit.INPUT
