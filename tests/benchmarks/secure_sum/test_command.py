"""``python -m benchmarks.secure_sum`` as anybody runs it."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from privity.common.exit_codes import Exit
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
    ("option", "value", "more"),
    [
        pytest.param("--cells", "0", (), marks=pytest.mark.long),
        ("--parties", "1", ()),
        pytest.param("--key-bits", "1024", (), marks=pytest.mark.long),
        pytest.param("--cells", "100000000", (), marks=pytest.mark.long),
        pytest.param("--key-bits", "3072", ("--secure-sum", "masks"), marks=pytest.mark.long),
        pytest.param("--exponents", "short", ("--secure-sum", "masks"), marks=pytest.mark.long),
    ],
)
def test_what_cannot_be_measured_is_refused(option: str, value: str, more: tuple[str, ...]) -> None:
    done = measured(option, value, *more)
    assert done.returncode == Exit.INPUT
    assert f"[bad-option]: {option[2:]}" in done.stderr
