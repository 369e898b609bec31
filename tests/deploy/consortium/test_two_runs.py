"""Open domains as docs/walkthrough.md has them: real processes over TLS, two manifests, and nobody restarts."""

from __future__ import annotations

import hashlib
import json
import re
from collections import Counter
from collections.abc import Callable
from contextlib import closing
from fractions import Fraction
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from privity.common.data.schema import load_schema
from privity.common.exit_codes import Exit
from privity.common.privacy.ledger_folder import open_ledger
from privity.common.release.release_folder import verify_release
from privity.common.release.verification.signature_verification import check_signatures
from privity.common.runs.automatic_choice import ALLOWED_AT_FIRST
from privity.common.synthesis.learning.domain_discovery import undiscovered
from tests.harness.command import here, serves, wait_until
from tests.harness.ledgers import charged
from tests.harness.walkthrough import CURATOR, PARTIES, Background, commands, commands_of_two_runs, free_port

pytestmark = pytest.mark.process

ROWS = 30_000
OPEN = {
    "fields": [
        {"name": "age", "type": "integer", "domain": "discover", "constraints": {"minimum": 0, "maximum": 120}},
        {"name": "pay", "type": "integer", "domain": "discover", "constraints": {"minimum": 0, "maximum": 10**6}},
        {"name": "ward", "type": "string", "categories": ["north", "south"]},
    ]
}
MINIMUM = 45_678
"""Of pay, which many have: only a closer look tells it from its neighbours."""

LATE = "east"
"""Its owner accepts the schema when the second run waits for it."""

READS = "north"
"""Its owner approves by hand, so reads what a run is about."""


def write_rows(folder: Path) -> pd.DataFrame:
    """The parties' rows, and a schema that does not say how old people are or what they are paid."""
    generator = np.random.default_rng(5)
    age = generator.integers(20, 70, ROWS)
    pay = np.where(generator.random(ROWS) < 0.3, 0, (age * 100 * generator.gamma(4, 1, ROWS)).round()).astype(int)
    pay[generator.random(ROWS) < 0.2] = MINIMUM
    rows = pd.DataFrame({"age": age, "pay": pay, "ward": np.where(age > 45, "north", "south")})
    for number, party in enumerate(PARTIES):
        rows.iloc[number::3].to_csv(folder / f"{party}.csv", index=False)
    (folder / "people.schema.json").write_text(json.dumps(OPEN))
    return rows


def edit(file: Path, old: str, new: str) -> None:
    text = file.read_text()
    assert old in text
    file.write_text(text.replace(old, new))


class World:
    """The page's folders and processes."""

    def __init__(self, place: Path, nodes: Background) -> None:
        self.place, self.nodes = place, nodes

    def does(self, command: str) -> str:
        done = here(self.place, command, COLUMNS="200")
        assert done.returncode == Exit.DONE, f"{command}\n{done.stdout}{done.stderr}{self.nodes.logs()}"
        return done.stdout

    def found(self, address: str) -> None:
        """The page up to its run, with policies that allow both algorithms."""
        for command in (command.replace(CURATOR, address) for command in commands()[:-1]):
            if serves(command):
                self.nodes.start(command)
                continue
            self.does(command)
            if command.startswith("privity party init"):
                party = next(name for name in PARTIES if f"{name}.csv" in command)
                edit(self.place / party / "policy.toml", json.dumps(ALLOWED_AT_FIRST), '["discover", "aim"]')
                if party == READS:
                    edit(self.place / party / "policy.toml", 'approval = "by-policy"', 'approval = "manual"')
        self.waits_until(lambda: "the curator serves" in self.nodes.logs(), "the curator")

    def approves(self, known: set[str]) -> tuple[str, str]:
        """What the owner who approves by hand is told of the next run, and its name."""

        def waits() -> set[str]:
            return set(re.findall(r"a run waits for approval.* run=(\S+)", self.nodes.logs())) - known

        self.waits_until(waits, "a run that waits for approval")
        (run,) = waits()
        told = self.does(f"privity party show {run} --config {READS}/party.toml")
        (then,) = re.findall(r"Then: (privity party approve .*)", told)
        self.does(then)
        return told, run

    def waiting(self) -> list[str]:
        """What the run at work waits for."""
        (*_, run) = json.loads(self.does("privity run list --config operator/operator.toml --json"))
        why = json.loads(self.does(f"privity run why {run['run']} --config operator/operator.toml --json"))
        return [f"{awaited['party']}: {awaited['note']}; {awaited['remedy']}" for awaited in why["awaited"]]

    def waits_until(self, condition: Callable[[], object], what: str) -> None:
        try:
            wait_until(condition, what)
        except AssertionError as error:
            raise AssertionError(f"{error}\n{self.nodes.logs()}") from None

    def digest_sealed(self) -> str:
        return str(json.loads((self.place / "organiser" / "manifest.json").read_text())["manifest"]["schema_digest"])


@pytest.mark.long
def test_domains_are_discovered_by_one_run_and_the_table_is_made_by_the_next(tmp_path: Path) -> None:
    rows = write_rows(tmp_path)
    shown = commands_of_two_runs()
    # The schema of this test is open from the beginning.
    begin = next(place for place, command in enumerate(shown) if "--algorithm discover" in command)
    discover, tell, seal, accept, *accepts, operators, table = shown[begin:]
    with Background(tmp_path) as nodes:
        world = World(tmp_path, nodes)
        world.found(f"localhost:{free_port()}")
        assert "auto holds the codes in memory" in world.does(f"privity party check --config {LATE}/party.toml")
        nodes.start(discover)
        told, first = world.approves(set())
        assert f"which names the schema with SHA-256 {load_schema(tmp_path / 'people.schema.json').digest}" in told
        assert "Domains that it discovers: those of age, pay." in told
        world.waits_until((tmp_path / "discovered" / "schema.json").exists, "the release of the first run")
        world.does(tell)
        known = load_schema(tmp_path / "organiser" / "known.schema.json")
        assert undiscovered(known) == []

        edit(tmp_path / "organiser" / "consortium.toml", '"../people.schema.json"', '"known.schema.json"')
        told = world.does(seal)
        assert world.digest_sealed() == known.digest
        assert known.digest in told
        assert "Send organiser/known.schema.json to every member." in told
        lacking = here(tmp_path, accept.replace("--schema organiser/known.schema.json ", ""))
        assert lacking.returncode == Exit.INPUT
        assert "over another schema" in lacking.stderr
        early, *others = accepts
        assert "Attributes with another domain: age, pay." in world.does(early)
        assert "kept ready until a manifest names it" in world.does(f"privity doctor --config {READS}/party.toml")
        world.does(accept)
        late = next(command for command in others if LATE in command)
        for command in (*(other for other in others if other != late), operators):
            assert known.digest in world.does(command)
        assert "selected tables" in world.does(
            "privity plan --config operator/operator.toml --algorithm aim --epsilon 0.8"
        )

        nodes.start(table)
        told, second = world.approves({first})
        assert f"which names the schema with SHA-256 {known.digest}" in told
        world.waits_until(lambda: len(world.waiting()) == 1, "the others")
        assert world.waiting() == [
            f"{LATE}: the schema that the newest manifest names; At {LATE}: privity party accept --schema FILE, with"
            " the schema that the organiser sent."
        ]
        world.does(late)
        world.waits_until((tmp_path / "second" / "run.json").exists, "the release of the second run")
        told = world.does(f"privity party show {first} --config {READS}/party.toml")
        assert "It was asked for under an earlier manifest" in told
        curator, *parties = nodes.processes[: 1 + len(PARTIES)]
        assert [node.poll() for node in (curator, *parties)] == [None] * 4, "nobody restarted"
        for config in ("north/party.toml", "east/party.toml", "curator/curator.toml"):
            lines = here(tmp_path, f"privity doctor --config {config} --json").stdout.splitlines()
            found = {check["check"]: check["verdict"] for check in map(json.loads, lines)}
            assert found["schema"] == "ok"
            assert "newer schema" not in found

    verify_release(tmp_path / "second")
    # Whoever sees the second release sees the domains too, and the parties signed both.
    (found,) = known.discoveries
    signed = hashlib.sha256((tmp_path / "discovered" / "run.json").read_bytes()).hexdigest()
    assert (found.attributes, found.run, found.release) == (("age", "pay"), first, signed)
    assert Fraction(4, 25) < found.loss.epsilon <= Fraction(1, 5)
    sealed = json.loads((tmp_path / "organiser" / "manifest.json").read_text())["manifest"]
    assert sealed["discoveries"] == [signed]
    statement = json.loads((tmp_path / "second" / "privacy.json").read_text())
    assert statement["schema"]["discoveries"] == [found.document()]
    assert {one["epsilon"] for one in statement["observers"]} == {str(Fraction(4, 5) + found.loss.epsilon)}
    signatures = check_signatures(tmp_path / "second", tmp_path / "organiser" / "organiser.pub")
    assert signatures.problems == []
    assert f"All {len(PARTIES)} parties and the curator agree." in signatures.lines
    assert json.loads((tmp_path / "second" / "run.json").read_text())["schema_digest"] == known.digest
    made = pd.read_csv(tmp_path / "second" / "synthetic.csv")
    assert len(made) == ROWS
    assert abs(made["age"].median() - rows["age"].median()) < 3
    assert abs((made["pay"] == 0).mean() - (rows["pay"] == 0).mean()) < 0.03
    assert abs((made["pay"] == MINIMUM).mean() - (rows["pay"] == MINIMUM).mean()) < 0.03
    for quantile in (0.5, 0.75, 0.9):
        assert made["pay"].quantile(quantile) == pytest.approx(rows["pay"].quantile(quantile), rel=0.15)
    old = [frame.loc[frame["age"] > 45, "ward"].eq("north").mean() for frame in (made, rows)]
    assert abs(old[0] - old[1]) < 0.1, "what belongs together stays together"
    for party in PARTIES:
        with closing(open_ledger(f"patients of the {party}", None)) as ledger:
            spent = Counter[str]()
            for entry in charged(ledger):
                spent[entry.charge.run] += entry.added[0]  # type: ignore[assignment]
            assert spent[second] == Fraction(4, 5)
            # Of the grids, and of one closer look at least.
            assert Fraction(4, 25) < spent[first] <= Fraction(1, 5)
