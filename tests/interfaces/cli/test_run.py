"""The operator's commands, as processes of their own, against a curator and parties over TLS."""

from __future__ import annotations

import asyncio
import json
import re
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest

from privity import connect
from privity.common.errors import PrivityError
from privity.common.exit_codes import Exit
from privity.common.release.release_folder import WRITTEN_AT
from tests.harness.command import privity
from tests.harness.consortium import make_consortium, open_policy
from tests.harness.network import NetworkConsortium
from tests.harness.tls import HOST, OPERATOR

pytestmark = pytest.mark.process

OPTIONS = ("--epsilon", "1", "--algorithm", "one-way", "--key-bits", "2048")


def operator_of(network: NetworkConsortium, address: str = "") -> Path:
    """The operator's settings; the curator is dialled at this address, or without one directly."""
    folder = network.folder / "operator"
    folder.mkdir()
    network.consortium.tls.files(folder, "operator", OPERATOR)
    (folder / "organiser.pub").write_bytes((network.folder / "organiser.pub").read_bytes())
    (folder / "manifest.json").write_bytes((network.folder / "manifest.json").read_bytes())
    (folder / "schema.json").write_text(json.dumps(network.consortium.schema.table_schema()))
    address = address or f"{HOST}:{network.port}"
    (folder / "operator.toml").write_text(
        f'format_version = 1\ncurator = "{address}"\ncertificate = "operator-{OPERATOR}.pem"\n'
        f'key = "operator-{OPERATOR}.key"\nmanifest = "manifest.json"\norganiser_key = "organiser.pub"\n'
    )
    return folder / "operator.toml"


def run_command(config: Path):
    async def command(name: str, *arguments: str | Path) -> tuple[int, Any, str]:
        """(exit code, JSON that was printed, standard error)."""
        group = () if name == "plan" else ("run",)
        done = await asyncio.to_thread(privity, *group, name, *arguments, "--config", config, "--json")
        return done.returncode, json.loads(done.stdout) if done.stdout else None, done.stderr

    return command


def test_a_run_by_its_commands(tmp_path: Path) -> None:
    async def scenario() -> None:
        consortium = make_consortium(2, domain=(2, 3), rows=20)
        async with NetworkConsortium(tmp_path, consortium, patience=200) as network:
            await network.stop_agent("party-2")
            command = run_command(operator_of(network))
            code, plan, _ = await command("plan", *OPTIONS, "--rows", "40")
            assert code == Exit.DONE
            assert plan["party_rows"] == {"party-1": 20, "party-2": 20}, "the parties are the manifest's"
            assert plan["phases"][0]["cells"] == 5
            for _ in range(2):
                code, submitted, _ = await command("submit", *OPTIONS, "--name", "autumn")
                assert (code, submitted) == (Exit.DONE, {"run": "autumn", "algorithm": "one-way"}), (
                    "a name is submitted once"
                )
            code, listed, _ = await command("list")
            assert [run["run"] for run in listed] == ["autumn"]
            why: dict[str, Any] = {}
            # Party 1 is awaited too until it has enrolled.
            while [one["party"] for one in why.get("awaited", ())] != ["party-2"]:
                code, why, _ = await command("why", "autumn")
                assert code == Exit.DONE
            assert why["state"] == "RUNNING"
            (awaited,) = why["awaited"]
            assert awaited["step"] == "enrol"
            assert awaited["remedy"]
            code, stopped, _ = await command("stop", "autumn")
            assert (code, stopped["state"], stopped["reason"]) == (Exit.DONE, "STOPPED", "stopped by the operator")
            code, _, said = await command("fetch", "autumn", "--out", tmp_path / "none")
            assert code == Exit.REFUSED
            assert json.loads(said)["error"] == "curator-refused"
            network.start_agent("party-2")
            code, resumed, _ = await command("resume", "autumn")
            assert code == Exit.DONE
            assert resumed["state"] in ("QUEUED", "RUNNING")
            watch = ("run", "watch", "autumn", "--config", tmp_path / "operator" / "operator.toml", "--json")
            done = await asyncio.to_thread(privity, *watch)
            events = [json.loads(line) for line in done.stdout.splitlines()]
            assert (done.returncode, events[-1]["state"], events[-1]["epsilon"]) == (Exit.DONE, "COMPLETED", "1")
            ended = await asyncio.to_thread(privity, *watch[:-1])
            then = f"privity run fetch autumn --out FOLDER --config {watch[-2]}"
            assert f"autumn: COMPLETED. Then: {then}" in ended.stdout
            code, fetched, _ = await command("fetch", "autumn", "--out", tmp_path / "release")
            assert code == Exit.DONE
            assert "synthetic.csv" in fetched["files"]
            again = ("run", "fetch", "autumn", "--config", watch[-2], "--out", tmp_path / "again")
            said = (await asyncio.to_thread(privity, *again)).stdout
            assert "Privacy loss of a person: epsilon 1, delta 0." in said
            folders = [tmp_path / name for name in ("release", "again")]
            assert {path.stat().st_mtime for folder in folders for path in (folder, *folder.iterdir())} == {WRITTEN_AT}
            code, _, said = await command("resume", "autumn")
            assert code == Exit.REFUSED
            assert "has ended for good" in json.loads(said)["message"]

    asyncio.run(scenario())


def test_refusals_are_foreseen_by_what_parties_publish(tmp_path: Path) -> None:
    policies = {
        "party-1": open_policy(epsilon_per_run=Fraction(1, 2), minimum_parties=4, published=("epsilon_per_run",)),
        "party-2": open_policy(algorithms=("mst",), published=("algorithms", "minimum_parties")),
    }

    async def scenario() -> None:
        consortium = make_consortium(3, domain=(2, 3), rows=20, policies=policies)
        async with NetworkConsortium(tmp_path, consortium) as network:
            config = operator_of(network)
            while len(network.server.runs.limits.all()) < 3:
                await asyncio.sleep(0.05)
            code, plan, _ = await run_command(config)("plan", *OPTIONS)
            assert code == Exit.DONE
            assert {one["party"]: one["reasons"] for one in plan["foreseen"]["parties"]} == {
                "party-1": ["epsilon 1 is above 0.5 a run"],
                "party-2": ["algorithm 'one-way' is not among those allowed"],
                "party-3": [],
            }
            shown = (await asyncio.to_thread(privity, "plan", *OPTIONS, "--config", config)).stdout
            assert "party-1 would refuse the run, by the limits that it signed 20" in shown
            assert "They publish no limits: party-3." in shown
            warned = await asyncio.to_thread(privity, "run", "submit", *OPTIONS, "--name", "autumn", "--config", config)
            assert (warned.returncode, warned.stdout) == (Exit.DONE, "autumn\n"), "it warns, and refuses nothing"
            assert "party-2 would refuse the run" in warned.stderr
            with connect(config) as operator:
                found = await asyncio.to_thread(operator.plan, epsilon=1, algorithm="one-way", rows=40)
                assert found.refusals["party-2"] == ("algorithm 'one-way' is not among those allowed",)
                assert "party-1 would refuse" in repr(found)
                with pytest.raises(PrivityError, match="ended FAILED"):
                    await asyncio.to_thread(operator.run("autumn").wait, progress=False)
            why = (await asyncio.to_thread(privity, "run", "why", "autumn", "--config", config)).stdout
            # What the parties say themselves is more than they publish.
            assert re.search(r"autumn is FAILED, since \S+: 2 parties refuse it\.", why)
            assert "epsilon 1 is above 0.5 a run; fewer than 4 parties" in why
            assert "algorithm 'one-way' is not among those allowed" in why

    asyncio.run(scenario())


def test_how_a_run_ended_is_in_the_exit_code(tmp_path: Path) -> None:
    async def scenario() -> None:
        consortium = make_consortium(2, policies={"party-2": open_policy(algorithms=("dp-subn",))})
        async with NetworkConsortium(tmp_path, consortium, patience=2.0) as network:
            command = run_command(operator_of(network))
            code, _, said = await command("submit", *OPTIONS, "--out", tmp_path / "release")
            assert code == Exit.FAILED
            assert "party-2 refuses the run" in json.loads(said)["message"]
            await network.stop_agent("party-2")
            code, _, said = await command("submit", *OPTIONS, "--name", "silent", "--out", tmp_path / "release")
            assert code == Exit.STOPPED
            assert "privity run resume silent" in json.loads(said)["remedy"]
            for wrong, expected in (
                (("why", "nobody"), Exit.REFUSED),
                (("submit", *OPTIONS, "--name", "a/b"), Exit.INPUT),
                (("submit", *OPTIONS, "--name", "silent", "--token", "other"), Exit.REFUSED),
                (("submit", "--epsilon", "2", "--name", "silent"), Exit.REFUSED),
                (("submit", "--epsilon", "0"), Exit.INPUT),
                (("submit", *OPTIONS, "--rows", "100000000"), Exit.INPUT),
                (("plan", *OPTIONS, "--tolerate", "2"), Exit.INPUT),
                (("plan", *OPTIONS, "--attribute", "nothing"), Exit.INPUT),
                (("plan", *OPTIONS, "--rows", "0"), Exit.INPUT),
                (("plan", "--epsilon", "1", "--algorithm", "magic"), Exit.INPUT),
            ):
                code, _, said = await command(*wrong)
                assert code == expected, (wrong, said)
                assert json.loads(said)["remedy"], wrong
                if "silent" in wrong:
                    assert "name: silent: another run is called so" in json.loads(said)["message"]
            assert not (tmp_path / "release").exists()

    asyncio.run(scenario())
