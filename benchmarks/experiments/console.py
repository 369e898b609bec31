"""The owner's console over a long history: seconds to the first byte and paint in chromium, sizes of pages, memory."""

from __future__ import annotations

import re
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from fractions import Fraction
from functools import lru_cache
from pathlib import Path
from typing import Any

import psutil
from selenium import webdriver

from benchmarks.data import Data
from benchmarks.experiment import Experiment, Point, Table, Values, grid, middle_of
from benchmarks.methods.soak_work import provisioned
from privity.assessment.audit.audited_consortium import sign_spec
from privity.common.consortium.manifest_file import ManifestFile
from privity.common.crypto.certificates import self_signed
from privity.common.privacy.ledger import Ledger
from privity.common.privacy.ledger_lines import Charge, Kind
from privity.common.privacy.neighbouring_relation import RELATION
from privity.common.privacy.privacy_loss import PureDP
from privity.common.protocol.run_spec import RunSpec
from privity.common.storage.journal import Journal
from privity.deploy.consortium.provisioning import point_to
from privity.party.approvals import Approvals
from privity.party.config import JOURNAL_FILE, load_config, node_id, read_policy
from tests.harness import browser

PAGES = {
    "overview": "", "runs": "runs", "a run": "runs/run-0000", "budget": "budget", "ledger": "ledger",
    "ledger, searched": "ledger?search=step-7", "policy": "policy", "changes": "log",
}  # fmt: skip
RUNS = 1_000
PARTY = "party-1"
TIMES = "const n = performance.getEntriesByType('navigation')[0]; const p = performance.getEntriesByType('paint')[0];"


def history(config: Path, lines: int) -> None:
    """A node that was asked for many runs, and has charged so many lines for them."""
    settings = load_config(config)
    policy, node = read_policy(settings), node_id(settings.state)
    assert settings.ledger is not None
    book = Ledger(settings.ledger, policy.population.name, node)
    # All in one transaction, as no node would: the disk is not what is measured.
    with book._writing():
        for number in range(lines):
            loss = PureDP(Fraction(1, 10**6), RELATION)
            charge = Charge(f"run-{number * RUNS // lines:04d}", f"step-{number}", loss)
            book._insert(book._written(Kind.CHARGE, node, charge, {}, None))
    book.close()
    manifest = ManifestFile(settings.manifest, settings.organiser_key).current()
    journal = Journal(settings.state / JOURNAL_FILE)
    approvals = Approvals(journal)
    operator = self_signed("operator", "operator")
    for number in range(RUNS):
        spec = RunSpec(
            run=f"run-{number:04d}",
            algorithm="one-way",
            settings={},
            epsilon=Fraction(1, 5),
            tolerate=1,
            members=tuple(manifest.members),
            manifest_digest=manifest.digest,
        )
        approvals.file(spec, sign_spec(spec, manifest, operator))
        if number:  # one waits
            approvals.note_closed(spec.run, "COMPLETED", "2026-01-02T03:04:05+00:00")
    journal.close()


@contextmanager
def console(config: Path) -> Iterator[tuple[str, psutil.Process]]:
    """The command at work: its link, and its process."""
    command = [sys.executable, "-m", "privity.interfaces.cli.main", "party", "console", "--config", str(config)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as child:
        assert child.stdout is not None
        links = (found[0] for line in child.stdout if (found := re.search(r"http://\S+link=\S+", line)))
        try:
            yield next(links), psutil.Process(child.pid)
        finally:
            child.terminate()


def visit(driver: webdriver.Chrome, address: str) -> tuple[float, float, float]:
    """Seconds to the first byte and to the first paint, and kilobytes of the page."""
    driver.get(address)
    while not driver.execute_script(f"{TIMES} return p"):
        time.sleep(0.1)
    found: Any = driver.execute_script(f"{TIMES} return [n.responseStart, p.startTime, n.decodedBodySize]")
    return found[0] / 1000, found[1] / 1000, found[2] / 1000


@lru_cache(maxsize=1)
def node(lines: int) -> tuple[tempfile.TemporaryDirectory[str], Path]:
    """A node with that history, made once for all points: its folder, which stays as long as this, and its file."""
    scratch = tempfile.TemporaryDirectory(prefix="privity-console-")
    consortium = provisioned(Path(scratch.name), 3)
    point_to(consortium, 9)  # nobody answers there
    config = consortium.party(PARTY) / "party.toml"
    (config.parent / "state").mkdir(exist_ok=True)
    history(config, lines)
    return scratch, config


def measure(point: Point, _seed: int, _data: Data) -> Values:
    _, config = node(point["lines"])
    with (
        tempfile.TemporaryDirectory(prefix="privity-browser-") as profile,
        console(config) as (link, process),
        browser.chromium(Path(profile)) as driver,
    ):
        driver.get(link)
        if point["visit"] == "second":
            for path in PAGES.values():
                driver.get(link.partition("enter?")[0] + path)
        byte, paint, size = visit(driver, link.partition("enter?")[0] + PAGES[point["page"]])
        return {"byte": byte, "paint": paint, "kB": size, "MB": process.memory_info().rss / 1e6}


def points(quick: bool) -> list[Point]:
    lines = 1_000 if quick else 100_000
    return grid(
        page=tuple(PAGES)[: 2 if quick else None], visit=("first", "second")[: 1 if quick else None], lines=lines
    )


EXPERIMENT = Experiment(
    title="The owner's console over a long history",
    points=points,
    measure=measure,
    shows=(
        Table(
            "pages",
            ("page", "visit"),
            {
                "first byte, s": middle_of("byte", 2),
                "first paint, s": middle_of("paint", 2),
                "page, kB": middle_of("kB", 0),
                "process, MB": middle_of("MB", 0),
            },
        ),
    ),
    code=("common/privacy", "interfaces/console", "party"),
    alone=lambda _: True,
)
