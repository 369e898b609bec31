"""When one party refuses a run, the others are heard, so that the operator learns all refusals at once."""

from __future__ import annotations

import asyncio
import json
from fractions import Fraction
from pathlib import Path

import pytest

from privity.common.errors import Catalogue, PrivityError
from privity.common.protocol.steps import Refusal
from privity.curator import refusals
from privity.curator.pending_steps import PartyRefusedError
from privity.curator.refusals import RefusedByPartiesError, all_heard
from privity.curator.run_progress_marks import End
from privity.curator.run_queue import Runs
from privity.curator.run_state_machine import FAILED
from privity.deploy.operator.run_status import explained
from privity.party.policy import Approval
from tests.harness.consortium import make_consortium, open_policy
from tests.harness.network import NetworkConsortium
from tests.harness.tls import OPERATOR


def refusing(party: str) -> PartyRefusedError:
    return PartyRefusedError(party, Refusal("refused-by-policy", f"{party} refuses", "Ask."))


class Parties:
    """Answers of parties, which come when the test says so."""

    def __init__(self, *names: str) -> None:
        self.answers = {name: asyncio.get_running_loop().create_future() for name in names}
        self.waiting: set[str] = set()

    async def _answer(self, name: str) -> str:
        return await self.answers[name]

    def asked(self) -> asyncio.Task[list[str]]:
        asked = {name: self._answer(name) for name in self.answers}
        return asyncio.create_task(all_heard(asked, lambda: self.waiting))


def test_all_refusals_are_heard_however_late_they_come() -> None:
    async def scenario() -> None:
        parties = Parties("a", "b", "c")
        asked = parties.asked()
        parties.answers["b"].set_exception(refusing("b"))
        await asyncio.sleep(0.05)
        parties.answers["a"].set_exception(refusing("a"))
        await asyncio.sleep(0.05)
        assert not asked.done(), "the third may still say something"
        parties.answers["c"].set_result("yes")
        with pytest.raises(RefusedByPartiesError) as caught:
            await asked
        assert [one.party for one in caught.value.refusals] == ["a", "b"], "in the order of the members"
        assert caught.value.message == "a says: a refuses. b says: b refuses"
        assert caught.value.code == "refused-by-policy"

    asyncio.run(scenario())


@pytest.mark.parametrize("late", [False, True])
def test_who_waits_for_a_person_holds_no_refused_run_up(late: bool) -> None:
    async def scenario() -> None:
        parties = Parties("a", "b")
        asked = parties.asked()
        if not late:
            parties.waiting.add("a")
        parties.answers["b"].set_exception(refusing("b"))
        await asyncio.sleep(0.05)
        parties.waiting.add("a")
        with pytest.raises(RefusedByPartiesError) as caught:
            await asked
        assert [one.party for one in caught.value.refusals] == ["b"]
        assert parties.answers["a"].cancelled(), "it is asked no more"

    asyncio.run(scenario())


def test_a_silent_party_is_heard_for_a_while_only(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(refusals, "HEARD_SECONDS", 0.05)

    async def scenario() -> None:
        parties = Parties("a", "b")
        asked = parties.asked()
        parties.answers["b"].set_exception(refusing("b"))
        with pytest.raises(RefusedByPartiesError, match="b refuses"):
            await asked

    asyncio.run(scenario())


def test_what_is_no_refusal_ends_it_at_once_and_who_waits_is_waited_for_while_nobody_refuses() -> None:
    async def scenario() -> None:
        parties = Parties("a", "b")
        asked = parties.asked()
        parties.waiting.add("a")
        parties.answers["b"].set_result("yes")
        await asyncio.sleep(0.05)
        assert not asked.done()
        parties.answers["a"].set_result("yes")
        assert await asked == ["yes", "yes"]
        parties = Parties("a", "b")
        asked = parties.asked()
        parties.answers["a"].set_exception(PrivityError(Catalogue.MALFORMED, sender="a"))
        with pytest.raises(PrivityError, match="not a message of this protocol"):
            await asked
        assert parties.answers["b"].cancelled()

    asyncio.run(scenario())


def test_an_end_is_kept_with_all_refusals() -> None:
    end = End(FAILED, "why", "what", "refused-by-policy", RefusedByPartiesError([refusing("a")]).refusals)
    assert End.read(end.bytes()) == end


@pytest.mark.process
def test_the_operator_is_told_every_refusal_of_every_party_and_is_told_so_after_a_restart(tmp_path: Path) -> None:
    policies = {
        "party-1": open_policy(algorithms=("mst",), minimum_parties=5),
        "party-2": open_policy(approval=Approval.MANUAL),
        "party-3": open_policy(epsilon_per_run=Fraction(1, 2)),
    }

    async def scenario() -> None:
        consortium = make_consortium(4, domain=(2, 3), rows=20, policies=policies)
        request = {"format_version": 1, "algorithm": "one-way", "epsilon": "1", "tolerate": 1, "key_bits": 2048}
        async with NetworkConsortium(tmp_path, consortium) as network:
            runs = network.server.runs
            name = network.submit("autumn", json.dumps(request).encode(), "autumn")
            async for run in runs.watch(name):
                state = run.state
            assert state == FAILED
            again = Runs(tmp_path / "curator", runs._manifests, runs._schemas, runs._desk, runs._metrics).get(name)
            assert again.refusals == run.refusals
            from privity.curator.grpc_services import OperatorServicer

            status = OperatorServicer(runs._desk, runs, runs._manifests, runs._metrics)._status(again)
        assert [(one.party, one.code) for one in status.refusals] == [
            ("party-1", "refused-by-policy"),
            ("party-3", "refused-by-policy"),
        ]
        said = list(explained(status))
        assert said[1] == f"The operator {OPERATOR} submitted it."
        assert said[0] == f"autumn is FAILED, since {status.since}: 2 parties refuse it."
        assert said[2] == (
            "party-1 says: party-1 refuses the run: algorithm 'one-way' is not among those allowed;"
            " fewer than 5 parties."
        )
        assert said[4] == "party-3 says: party-3 refuses the run: epsilon 1 is above 0.5 a run."
        for party in ("party-1", "party-3"):
            filed = consortium.parties[party].engine._approvals.of("autumn")
            assert filed.state == "refused by policy"
        assert not consortium.parties["party-2"].engine._approvals.knows("autumn"), "it waits no more"

    asyncio.run(scenario())
