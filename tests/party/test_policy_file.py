"""A policy that changes while its node works: what is tighter binds at the next charge, what is looser no begun run."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from privity.common.data.noisy_tables import AttributeParentPair
from privity.common.errors import PrivityError
from privity.common.privacy.mechanisms import NoisyMax
from privity.common.privacy.population import Population
from privity.common.protocol.run_spec import Enrolment, RunPlan
from privity.common.protocol.steps import (
    Begin,
    Close,
    Contribute,
    Done,
    Enrol,
    Enrolled,
    Pending,
    Refusal,
    Reply,
    SealBlock,
    Select,
    Selected,
)
from privity.common.storage.canonical_json import canonical_bytes, parse
from privity.common.storage.journal import Journal
from privity.party import policy_file
from privity.party.policy import Approval, Policy, load_policy
from privity.party.policy_file import Obeyed, PolicyFile, note_policy, policy_obeyed
from tests.harness.consortium import TestConsortium, make_consortium, open_policy
from tests.harness.ledgers import charged
from tests.harness.steps import laplace_round

NAME = "party-1"
PIECE = Fraction(1, 8)
FAULTY = "its policy cannot be obeyed"


def contribute(number: int, run: str = "run-1") -> Contribute:
    return Contribute(laplace_round(run, "test", str(number), ((0,),), PIECE))


def select(run: str = "run-1") -> Select:
    pairs = AttributeParentPair(0, (1,)), AttributeParentPair(1, (0,))
    return Select(run, "test", "chosen", pairs, NoisyMax(PIECE))


def changed(consortium: TestConsortium, **changes: object) -> None:
    """The owner of the first party writes another policy; its node goes on."""
    consortium.policies[NAME] = replace(consortium.policies[NAME], **changes)


def refused(reply: Reply, reason: str) -> bool:
    return isinstance(reply, Refusal) and reply.code == "refused-by-policy" and reason in reply.message


TIGHTER = {
    "a lower limit": ({"epsilon_per_run": Fraction(1, 2)}, "epsilon 1 is above 0.5 a run"),
    "an algorithm less": ({"algorithms": ("mst",)}, "algorithm 'dp-subn'"),
    "attributes less": ({"attributes": ("A0",)}, "it is about every attribute"),
    "more parties": ({"minimum_parties": 4}, "fewer than 4 parties"),
    "more colluding": ({"minimum_tolerate": 2}, "tolerates fewer than 2"),
    "longer keys": ({"minimum_key_bits": 1024}, "512-bit Paillier modulus is shorter than 1024 bits"),
    "other sums": ({"secure_sums": ("masks",)}, "secure sums by 'paillier'"),
    "other exponents": ({"exponents": ("full",)}, "'half' exponents"),
    "people at more parties": ({"parties_per_person": 2}, "a person is at 1 parties, not 2"),
}


@pytest.mark.parametrize("restarted", [False, True])
@pytest.mark.parametrize(("changes", "reason"), TIGHTER.values(), ids=TIGHTER)
def test_what_is_tighter_binds_at_the_next_charge(tmp_path: Path, changes, reason: str, restarted: bool) -> None:
    consortium = make_consortium(3, folder=tmp_path)
    consortium.begin()
    first = contribute(1)
    assert consortium.tell(NAME, first) == Done()
    changed(consortium, **changes)
    party = consortium.restart(NAME) if restarted else consortium.parties[NAME]
    for step in (contribute(2), select()):
        assert refused(consortium.tell(NAME, step), reason)
    assert party.ledger.spent("run-1") == PIECE, "it is refused before it is charged"
    # What was charged before may be revealed: it costs nothing more.
    sealed = consortium.tell(NAME, SealBlock("run-1", consortium.attempt(first.round), 0))
    assert not isinstance(sealed, Refusal)


@pytest.mark.parametrize("restarted", [False, True])
def test_what_is_looser_never_reaches_a_run_that_has_begun(tmp_path: Path, restarted: bool) -> None:
    consortium = make_consortium(3, policies={NAME: open_policy(epsilon_per_run=Fraction(1))}, folder=tmp_path)
    consortium.begin()
    journal = consortium.parties[NAME].journal
    kept = parse(journal.content("run-1/limits") or b"")
    assert kept["epsilon_per_run"] == "1"
    # As if it had begun under less than it may cost: no later policy may make that good.
    journal.drop(["run-1/limits"])
    journal.record("run-1/limits", "limits", canonical_bytes({**kept, "epsilon_per_run": "1/2"}))
    changed(consortium, epsilon_per_run=Fraction(1000))
    if restarted:
        assert refused(consortium.tell(NAME, contribute(1)), "") is False, "kept in memory from the beginning"
        consortium.restart(NAME)
    else:
        consortium.parties[NAME].engine._admission._begun.clear()
    assert refused(consortium.tell(NAME, contribute(2)), "epsilon 1 is above 0.5 a run")
    assert parse(consortium.parties[NAME].journal.content("run-1/limits") or b"")["epsilon_per_run"] == "1/2"


def test_a_run_that_began_before_a_crash_keeps_the_limits_of_then(tmp_path: Path) -> None:
    consortium = make_consortium(3, policies={NAME: open_policy(epsilon_per_run=Fraction(2))}, folder=tmp_path)
    plan = consortium.begin()
    journal = consortium.parties[NAME].journal
    # Killed after the limits were kept and before the plan was.
    journal.drop(["run-1/plan", "run-1/reply/begin", "run-1/transcript/step/begin"])
    changed(consortium, epsilon_per_run=Fraction(1000))
    consortium.restart(NAME)
    assert consortium.tell(NAME, Begin(plan)) == Done()
    assert parse(consortium.parties[NAME].journal.content("run-1/limits") or b"")["epsilon_per_run"] == "2"


def test_a_lower_total_binds_at_the_next_charge_and_a_higher_one_leaves_the_policy_as_it_is() -> None:
    consortium = make_consortium(3)
    consortium.begin()
    ledger = consortium.parties[NAME].ledger
    assert consortium.tell(NAME, contribute(1)) == Done()
    was = ledger.population
    ledger.change(replace(was, total_epsilon=PIECE), was)
    reply = consortium.tell(NAME, contribute(2))
    assert isinstance(reply, Refusal)
    assert reply.code == "budget-exhausted"
    ledger.change(was, ledger.population)
    changed(consortium, epsilon_per_run=Fraction(1, 2))
    assert refused(consortium.tell(NAME, contribute(2)), "epsilon 1 is above 0.5")


def test_a_run_that_was_refused_goes_on_where_it_was_once_it_is_allowed_again() -> None:
    consortium = make_consortium(3)
    consortium.begin()
    changed(consortium, algorithms=("mst",))
    assert refused(consortium.tell(NAME, contribute(1)), "algorithm")
    changed(consortium, algorithms=("dp-subn",))
    assert consortium.tell(NAME, contribute(1)) == Done()


def test_a_run_between_enrolment_and_beginning_is_judged_by_the_policy_of_now() -> None:
    consortium = make_consortium(3)
    spec = consortium.spec()
    enrolled = [consortium.tell(name, Enrol(spec)) for name in consortium.parties]
    plan = RunPlan(spec, tuple(Enrolment.from_dict(e.enrolment) for e in enrolled), consortium.public.n)
    changed(consortium, minimum_key_bits=1024)
    assert refused(consortium.tell(NAME, Begin(plan)), "512-bit")
    assert charged(consortium.parties[NAME].ledger) == []


def test_a_run_that_waits_is_judged_anew() -> None:
    consortium = make_consortium(3, policies={NAME: open_policy(approval=Approval.MANUAL)})
    step = Enrol(consortium.spec())
    assert isinstance(consortium.tell(NAME, step), Pending)
    changed(consortium, minimum_parties=4)
    assert refused(consortium.tell(NAME, step), "fewer than 4 parties")
    changed(consortium, minimum_parties=2)
    assert isinstance(consortium.tell(NAME, step), Pending)
    changed(consortium, approval=Approval.BY_POLICY)
    assert isinstance(consortium.tell(NAME, step), Enrolled)


LIMITS = st.fixed_dictionaries(
    {
        "epsilon_per_run": st.sampled_from([Fraction(1, 2), Fraction(1), Fraction(5)]),
        "minimum_parties": st.sampled_from([2, 4]),
        "algorithms": st.sampled_from([("dp-subn",), ("dp-subn", "mst"), ("mst",)]),
    }
)


@given(policies=st.lists(st.tuples(LIMITS, st.booleans()), min_size=1, max_size=6))
@settings(deadline=None)
def test_a_charge_passes_exactly_if_the_policy_of_the_beginning_and_that_of_now_allow_the_run(policies) -> None:
    """Whatever the owner writes in between, and however often the node starts again."""
    consortium = make_consortium(3, rows=20)
    consortium.begin()
    passed = 0
    for number, (limits, forgotten) in enumerate(policies):
        changed(consortium, **limits)
        if forgotten:
            admission = consortium.parties[NAME].engine._admission
            admission._begun.clear()
            admission._bound.clear()
        reply = consortium.tell(NAME, replace(select(), selection=str(number)))
        allowed = not consortium.policies[NAME].refusals(consortium.spec(), NAME, key_bits=512)
        assert isinstance(reply, Selected) if allowed else refused(reply, "")
        passed += allowed
        assert consortium.parties[NAME].ledger.spent("run-1") == min(passed, 8) * PIECE


TEXT = """\
format_version = 1
population = "people"
approval = "by-policy"
epsilon_per_run = "{epsilon}"
algorithms = ["dp-subn"]
minimum_parties = 2
minimum_tolerate = 1
minimum_key_bits = 2048
"""


class OnDisk:
    """A policy in a file, and the population of which it is."""

    def __init__(self, folder: Path) -> None:
        self.path = folder / "policy.toml"
        self.people = Population("people", Fraction(10))
        self.write(TEXT.format(epsilon=1))
        self.file = PolicyFile(self.path, NAME, lambda: load_policy(self.path, self._declared))

    def _declared(self, name: str) -> Population:
        return replace(self.people, name=name)

    def write(self, text: str) -> None:
        self.path.write_text(text)


@pytest.fixture
def on_disk(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> OnDisk:
    monkeypatch.setattr(policy_file, "SETTLE_SECONDS", 0.0)
    return OnDisk(tmp_path)


def test_a_change_counts_even_if_size_and_time_of_the_file_stay(on_disk: OnDisk) -> None:
    import os

    before = on_disk.path.stat()
    on_disk.write(TEXT.format(epsilon=2))
    os.utime(on_disk.path, ns=(before.st_atime_ns, before.st_mtime_ns))
    assert on_disk.path.stat().st_size == before.st_size
    assert on_disk.file.current().epsilon_per_run == 2


@pytest.mark.parametrize(
    "broken",
    [
        "",
        "population = ",
        TEXT.format(epsilon=1).replace("dp-subn", "dp-sbun"),
        TEXT.format(epsilon="one"),
        TEXT.format(epsilon=1).replace("minimum_parties = 2\n", ""),
        TEXT.format(epsilon=1) + "rows_per_person = 2\n",
        TEXT.format(epsilon=1).replace("= 2048", f"= {'9' * 5000}"),
        TEXT.format(epsilon=1) + f"evaluation = {'[' * 5000}{']' * 5000}\n",
        TEXT.format(epsilon=1) + f"evaluation.{'a.' * 3000}b = 1\n",
    ],
    ids=["empty", "no TOML", "unknown algorithm", "no number", "a key less", "a key of before", "long", "deep", "dots"],
)
def test_a_broken_file_refuses_every_run_until_it_is_mended(on_disk: OnDisk, broken: str) -> None:
    consortium = make_consortium(3)
    admission = consortium.parties[NAME].engine._admission
    consortium.begin()
    admission._policy = lambda: replace(
        consortium.policies[NAME], epsilon_per_run=on_disk.file.current().epsilon_per_run
    )
    assert consortium.tell(NAME, contribute(1)) == Done()
    on_disk.write(broken)
    for step in (contribute(2), select(), Enrol(consortium.spec("run-2"))):
        assert refused(consortium.tell(NAME, step), FAULTY)
    assert on_disk.file.obeyed().fault
    assert consortium.parties[NAME].ledger.spent("run-1") == PIECE
    assert consortium.tell(NAME, Close("run-2", "FAILED")) == Done(), "what ends a run is no release"
    on_disk.write(TEXT.format(epsilon=1))
    assert consortium.tell(NAME, contribute(2)) == Done()
    assert on_disk.file.obeyed().fault == ""


def test_an_error_that_nobody_foresaw_does_not_leave_the_policy_of_before(on_disk: OnDisk) -> None:
    read = on_disk.file._read

    def unforeseen() -> None:
        raise RuntimeError

    on_disk.file._read = unforeseen
    on_disk.write(TEXT.format(epsilon="1/2"))
    for _ in range(2):
        with pytest.raises(PrivityError, match=FAULTY):
            on_disk.file.current()
    assert "RuntimeError" in on_disk.file.obeyed().fault
    on_disk.file._read = read
    assert on_disk.file.current().epsilon_per_run == Fraction(1, 2)


def test_a_file_that_is_gone_refuses_every_run(on_disk: OnDisk) -> None:
    on_disk.path.unlink()
    with pytest.raises(PrivityError, match=FAULTY):
        on_disk.file.current()
    assert "no such file" in on_disk.file.obeyed().fault
    on_disk.write(TEXT.format(epsilon=3))
    assert on_disk.file.current().epsilon_per_run == 3


def test_other_people_need_a_restart(on_disk: OnDisk) -> None:
    on_disk.write(TEXT.format(epsilon=1).replace('"people"', '"others"'))
    with pytest.raises(PrivityError, match=FAULTY) as caught:
        on_disk.file.current()
    assert "others" not in caught.value.message, "it is nobody else's business"
    assert "was started over 'people', and the policy names 'others'" in on_disk.file.obeyed().fault
    on_disk.write(TEXT.format(epsilon=1))
    assert on_disk.file.current().population.name == "people"


def test_rows_stay_those_of_the_people_as_they_were_read(on_disk: OnDisk) -> None:
    on_disk.people = Population("people", Fraction(20), rows_per_person=3)
    on_disk.write(TEXT.format(epsilon=2))
    people = on_disk.file.current().population
    assert (people.total_epsilon, people.rows_per_person) == (20, 1)


def test_half_a_file_is_no_policy(on_disk: OnDisk, monkeypatch: pytest.MonkeyPatch) -> None:
    """What an editor has written so far may parse, without the line that limits most."""
    whole = TEXT.format(epsilon=2) + 'attributes = ["A0"]\n'
    waits: list[float] = []

    def settle(seconds: float) -> None:
        waits.append(seconds)
        if len(waits) == 1:
            on_disk.write(whole)

    monkeypatch.setattr(policy_file.time, "sleep", settle)
    on_disk.write(TEXT.format(epsilon=2))
    assert on_disk.file.current().attributes == ("A0",)


def test_a_file_that_does_not_cease_to_change_is_not_obeyed(on_disk: OnDisk, monkeypatch: pytest.MonkeyPatch) -> None:
    read, number = on_disk.file._read, iter(range(2, 99))

    def rewritten() -> Policy:
        found = read()
        on_disk.write(TEXT.format(epsilon=next(number)))
        return found

    monkeypatch.setattr(on_disk.file, "_read", rewritten)
    on_disk.write(TEXT.format(epsilon=1) + "\n")
    with pytest.raises(PrivityError, match=FAULTY):
        on_disk.file.current()


def test_what_the_node_obeys_is_kept_with_the_moment_from_which_on(on_disk: OnDisk) -> None:
    journal = Journal()
    assert policy_obeyed(journal) is None
    note_policy(journal, on_disk.file.obeyed())
    first = policy_obeyed(journal)
    note_policy(journal, on_disk.file.obeyed())
    assert policy_obeyed(journal) == first
    assert first is not None
    assert first == Obeyed(policy_file.sha256(on_disk.path.read_bytes()), "", first.since)
    on_disk.write("")
    note_policy(journal, on_disk.file.obeyed())
    assert "format_version" in (policy_obeyed(journal) or first).fault
