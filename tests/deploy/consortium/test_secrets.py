"""Where secrets lie while real nodes serve a run, and where not: files of their owner only, no log, no release."""

from __future__ import annotations

import stat
from pathlib import Path

import pytest

from privity.deploy.consortium.provisioning import Consortium
from tests.harness.command import privity
from tests.interfaces.cli.test_node_logs import Nodes, consortium, operator_of

pytestmark = pytest.mark.process

__all__ = ["consortium"]

PRIVATE = "PRIVATE KEY"


def keys_below(place: Path) -> list[Path]:
    return [file for file in place.rglob("*") if file.is_file() and PRIVATE in file.read_text(errors="ignore")]


def secrets_of(files: list[Path]) -> list[str]:
    """The lines between the marks, which are the keys."""
    return [line for file in files for line in file.read_text().splitlines() if line and "-----" not in line]


def core_limits(pid: int) -> list[str]:
    (line,) = [li for li in Path(f"/proc/{pid}/limits").read_text().splitlines() if li.startswith("Max core file size")]
    return line.split()[4:6]


def test_secrets_stay_where_they_are(consortium: Consortium, tmp_path: Path) -> None:
    nodes = Nodes(consortium, "text")
    try:
        port = nodes.start_all()
        operator = operator_of(tmp_path / "all", port)
        done = privity(
            "run", "submit", "--config", operator, "--algorithm", "one-way", "--epsilon", "1", "--secure-sum",
            "masks", "--out", tmp_path / "release",
        )  # fmt: skip
        assert done.returncode == 0, done.stderr
        for name, process in nodes.running.items():
            assert core_limits(process.pid) == ["0", "0"], f"{name} may leave an image of its memory"
        nodes.stop()
    finally:
        for process in nodes.running.values():
            process.kill()
            process.communicate()
    keys = keys_below(tmp_path / "all")
    # Of each party four, of the curator and the operator one for TLS each.
    assert len(keys) >= 2 * 4 + 2
    stores = [file for pattern in ("*.sqlite*", "lock") for file in (tmp_path / "all").rglob(pattern)]
    assert len([file for file in stores if file.suffix == ".sqlite"]) >= 5
    transcripts = list((tmp_path / "all").rglob("transcripts/*.json"))
    assert len(transcripts) == len(consortium.members)
    for file in (*keys, *stores, *transcripts):
        assert stat.S_IMODE(file.stat().st_mode) == 0o600, f"{file} is for its owner only"
    told = "".join(nodes.said.values()) + done.stdout + done.stderr
    public = [file for file in tmp_path.rglob("*") if file.is_file() and file not in keys and file not in stores]
    for secret in secrets_of(keys):
        assert secret not in told
        assert not [file for file in public if secret in file.read_text(errors="ignore")]
