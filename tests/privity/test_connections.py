"""``connect``, against a curator and parties over TLS: plan, submit, follow and fetch, sync and async."""

from __future__ import annotations

import asyncio
import pickle
from fractions import Fraction
from pathlib import Path

import pytest

from privity import Release, connect
from privity.common.errors import Catalogue, PrivityError, ProblemsFound
from privity.common.storage.canonical_json import b64
from tests.harness.consortium import make_consortium, open_policy
from tests.harness.network import NetworkConsortium
from tests.interfaces.cli.test_run import operator_of

pytestmark = pytest.mark.process

ASKED = {"epsilon": 0.5, "algorithm": "one-way", "secure_sum": "masks"}


def as_in_a_notebook(config: Path, out: Path) -> None:
    """The calls that wait, made in a thread in which an event loop is running, as a notebook has one."""

    async def cell() -> None:
        with connect(config) as consortium:
            assert consortium.parties() == ["party-1", "party-2"]
            plan = consortium.plan(**ASKED, rows={"party-2": 20, "party-1": 30})
            assert plan.document["party_rows"] == {"party-1": 30, "party-2": 20}
            assert (plan.epsilon, list(plan.phases["cells"])) == (Fraction(1, 2), [5])
            assert "party-1 30, party-2 20" in repr(plan)
            run = consortium.submit(**ASKED, name="autumn")
            assert consortium.submit(**ASKED, name="autumn").name == run.name == "autumn", "a name is submitted once"
            assert repr(run) == "Run('autumn'; one-way)"
            with pytest.raises(PrivityError, match="how many rows the parties have"):
                consortium.submit(epsilon=0.5, secure_sum="masks")
            chosen = consortium.submit(epsilon=0.5, secure_sum="masks", name="chosen", held=900)
            assert "which was chosen: all pairs measured at once are" in repr(chosen), (
                "of auto it is said what was taken, and why"
            )
            chosen.wait(progress=False)
            followed = list(run.follow())
            assert (followed[-1].state, followed[-1].epsilon) == ("COMPLETED", Fraction(1, 2))
            assert [step.state for step in followed[:-1]].count("COMPLETED") == 0
            assert run.wait(progress=False) == followed[-1]
            assert repr(followed[-1]).startswith("autumn: COMPLETED")
            assert "0.5 spent" in followed[-1]._repr_html_()
            status = run.status()
            assert (status.state, status.algorithm, status.epsilon) == ("COMPLETED", "one-way", Fraction(1, 2))
            assert run.why() == "\n".join(status.sentences) == repr(status)
            assert run.why().startswith("autumn is COMPLETED, since ")
            runs = consortium.runs()
            assert runs["run"].tolist() == ["winter", "autumn", "chosen"]
            assert runs[["state", "epsilon"]].to_numpy().tolist() == [["COMPLETED", 0.5]] * 3
            kept, own = run.fetch(out), run.fetch()
            assert kept.rows.equals(own.rows)
            assert Release(out).run["run"] == kept.run["run"] == "autumn"
            assert float(kept.statement.epsilon) == 0.5
            with pytest.raises(PrivityError, match="exists already"):
                run.fetch(out)
        with pytest.raises(RuntimeError, match="connect again"):
            run.status()

    asyncio.run(cell())


async def awaited(config: Path, network: NetworkConsortium) -> None:
    """The same calls awaited, in the loop in which the curator itself is at work."""
    async with connect(config.parent) as consortium:
        assert await consortium.parties() == ["party-1", "party-2"]
        assert (await consortium.plan(**ASKED, rows=50)).epsilon == Fraction(1, 2)
        run = await consortium.submit(**ASKED, name="winter")
        while "party-2" not in [one["party"] for one in (await run.status()).awaited]:
            await asyncio.sleep(0.05)
        assert "It awaits party-2: its answer to enrol" in await run.why()
        async for step in run.follow():
            assert step.state == "RUNNING"
            break
        assert (await run.stop()).state == "STOPPED"
        with pytest.raises(PrivityError, match="stopped by the operator") as stopped:
            await run.wait(progress=False)
        assert stopped.value.kind is Catalogue.RUN_FAILED
        assert "privity run resume" in stopped.value.remedy
        with pytest.raises(PrivityError) as refused:
            await run.fetch()
        assert refused.value.kind is Catalogue.CURATOR_REFUSED
        network.start_agent("party-2")
        assert (await run.resume()).state in ("QUEUED", "RUNNING")
        states = [step.state async for step in run.follow()]
        assert states[-1] == "COMPLETED"
        assert (await run.fetch()).run["run"] == "winter"


def test_runs_of_a_consortium_from_python(tmp_path: Path) -> None:
    async def scenario() -> None:
        consortium = make_consortium(2, domain=(2, 3), rows=20)
        async with NetworkConsortium(tmp_path, consortium, patience=200, dialling=False) as network:
            config = operator_of(network)
            network.start_agent("party-1")
            await awaited(config, network)
            await asyncio.to_thread(as_in_a_notebook, config, tmp_path / "release")

    asyncio.run(scenario())


def test_what_is_refused_is_named_as_an_argument(tmp_path: Path) -> None:
    async def scenario() -> None:
        policies = {"party-2": open_policy(algorithms=("dp-subn",), published=("algorithms",))}
        async with NetworkConsortium(tmp_path, make_consortium(2, policies=policies), patience=20) as network:
            await asyncio.to_thread(refusals, operator_of(network))

    asyncio.run(scenario())


def refusals(config: Path) -> None:
    consortium = connect(config)
    for argument, wrong in (
        ("epsilon", {"epsilon": 0}),
        ("epsilon", {"epsilon": "one"}),
        ("delta", {"delta": 1}),
        ("algorithm", {"algorithm": "magic"}),
        ("rows", {"rows": 1.5}),
        ("rows", {"rows": 10**10}),
        ("attribute", {"attributes": ["nothing"], "rows": 5}),
        ("secure_sum", {"secure_sum": "magic"}),
        ("key_bits", {"secure_sum": "paillier", "key_bits": 512}),
        ("tolerate", {"tolerate": -1}),
        ("evaluation_target", {"evaluation_targets": ["a0"]}),
    ):
        with pytest.raises(PrivityError) as refused:
            consortium.submit(**ASKED | wrong)
        assert refused.value.message.startswith(f"{argument}: "), refused.value
        assert refused.value.remedy
        assert "--" not in str(refused.value)
    with pytest.raises(ProblemsFound, match="there is no such setting"):
        consortium.submit(**ASKED, theta=3)
    with pytest.raises(PrivityError, match="rows: nobody says how many"):
        consortium.plan(**ASKED)
    with pytest.raises(ProblemsFound, match="rows: "):
        consortium.plan(**ASKED, rows=[1, 2, 3])
    with pytest.raises(PrivityError, match="Give one for each party: party-1, party-2"):
        consortium.plan(**ASKED, rows={"party-1": 1})
    with pytest.raises(ProblemsFound) as caught:
        consortium.plan(**ASKED, rows=50, parties=["party-1", "party-3", "party-1"])
    for told in ("the manifest lists no 'party-3'", "party-1 is named twice", "needs two parties or more"):
        assert told in str(caught.value)
    with pytest.raises(PrivityError, match="the manifest lists no 'party-3'"):
        consortium.submit(**ASKED, parties=["party-1", "party-3"])
    assert consortium.plan(**ASKED, rows=50, parties=["party-2", "party-1"]).document["party_rows"].keys() == {
        "party-1",
        "party-2",
    }
    with pytest.raises(PrivityError, match="no run nobody"):
        consortium.run("nobody").status()
    with pytest.warns(UserWarning, match="party-2 would refuse the run: .*one-way") as warned:
        run = consortium.submit(**ASKED)
    assert [each.filename for each in warned if "would refuse" in str(each.message)] == [__file__]
    with pytest.raises(PrivityError, match="party-2 refuses the run"):
        run.wait(progress=False)


def test_a_connection_is_a_place_and_pickles(tmp_path: Path) -> None:
    with pytest.raises(PrivityError, match="privity operator init"):
        connect(tmp_path / "operator.toml")
    with pytest.raises(PrivityError, match="config: a int is no path"):
        connect(3)
    (tmp_path / "organiser.pub").write_text(b64(bytes(32)))
    (tmp_path / "operator.toml").write_text(
        'format_version = 1\ncurator = "localhost:1"\ncertificate = "a"\nkey = "b"\n'
        'manifest = "c"\norganiser_key = "organiser.pub"\n'
    )
    consortium = pickle.loads(pickle.dumps(connect(tmp_path)))
    assert repr(consortium) == "Consortium(curator='localhost:1')"
    with consortium:
        pass
    with pytest.raises(RuntimeError, match="connect again"):
        consortium.runs()
