"""A consortium changes its schema: what each side keeps ready, takes and refuses, in whatever order the files come."""

from __future__ import annotations

import asyncio
import json
from dataclasses import replace
from fractions import Fraction
from pathlib import Path

import pytest

from privity.assessment.audit.audited_consortium import sign_spec
from privity.common.consortium.manifest import Manifest, read_manifest, sign_manifest
from privity.common.consortium.member_folder import make_folder, make_join
from privity.common.consortium.schema_file import END_AWAITED, SCHEMA_AWAITED, SchemaFile
from privity.common.crypto.identity import Identity
from privity.common.data.schema import load_schema
from privity.common.errors import PrivityError
from privity.common.privacy.ledger_folder import declare
from privity.common.privacy.population import parse_population
from privity.common.protocol.run_spec import Enrolment, RunPlan, RunSpec
from privity.common.protocol.secure_sum_method import MASKS
from privity.common.protocol.steps import Begin, Close, Enrol, Enrolled, Pending, Refusal, Step
from privity.common.runs.run_request import RunRequest
from privity.common.wire.codec import decode_reply, encode_step
from privity.common.wire.v1 import privity_pb2 as pb
from privity.curator import joining as curator_joining
from privity.curator.server import load_config as load_curator
from privity.deploy.consortium.organiser import Organiser
from privity.party import joining
from privity.party.agent import Agent
from privity.party.config import Node, load_config
from privity.party.policy import Approval
from privity.party.step_answers import OtherSchemaError

PARTIES = ("north", "south")
FORMER, NEWER, NARROW = (
    {"fields": [{"name": "a", "type": "string", "categories": list(categories)}]} for categories in ("xy", "xyz", "xz")
)


class Place:
    """An organiser, a curator and two parties in folders of their own; the manifest over the former schema is there."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        for name, schema in (("former", FORMER), ("newer", NEWER), ("narrow", NARROW)):
            (folder / f"{name}.json").write_text(json.dumps(schema))
        self.organiser = Organiser.init(folder / "o", "clinics", "localhost:7443", folder / "former.json", PARTIES)
        for member in self.organiser.agreement().everybody():
            _, invite = self.organiser.invite(member)
            if invite.role == "party":
                (folder / f"{member}.csv").write_text("a\nx\ny\n")
                declare(parse_population(f"people of {member}", "9")).close()
                data = str(folder / f"{member}.csv")
                answer, _ = joining.join(folder / member, invite, data, f"people of {member}", Approval.BY_POLICY)
            elif invite.role == "curator":
                answer, _ = curator_joining.join(folder / member, invite, "127.0.0.1:0")
            else:
                make_folder(folder / member, invite, f"{invite.role}.toml")
                answer, _ = make_join(folder / member, invite)
            (self.organiser.joins / answer.name).write_bytes(answer.read_bytes())
        self.first = self.organiser.seal()
        (self.north / "manifest.json").write_bytes(self.organiser.manifest_file.read_bytes())

    @property
    def north(self) -> Path:
        return self.folder / "north"

    @property
    def sealed(self) -> bytes:
        return self.organiser.manifest_file.read_bytes()

    @property
    def newest(self) -> Manifest:
        return read_manifest(self.organiser.manifest_file, self.organiser.folder / "organiser.pub")

    def seal(self, schema: str) -> Manifest:
        """The next manifest, over this schema."""
        file = self.organiser.agreement_file
        text = file.read_text()
        before = next(line for line in text.splitlines() if line.startswith("schema = "))
        file.write_text(text.replace(before, f'schema = "../{schema}.json"'))
        return self.organiser.seal()

    def node(self) -> Node:
        return Node(load_config(self.north / "party.toml"))

    def accept(self, schema: str) -> None:
        SchemaFile(self.north / "schema.json").keep_ready(self.folder / f"{schema}.json")

    def in_use(self) -> str:
        return load_schema(self.north / "schema.json").digest


@pytest.fixture
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Place:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    return Place(tmp_path)


class Curator:
    """What a node hears of one: the newest manifest. In the place of the stub of gRPC."""

    def __init__(self, place: Place) -> None:
        self._place = place
        self.replies: list[bytes] = []

    def request(self, spec: RunSpec) -> bytes:
        """What the operator signed for it."""
        first, pair = self._place.first, [self._place.folder / "operator" / f"tls.{kind}" for kind in ("pem", "key")]
        manifest = first if spec.manifest_digest == first.digest else self._place.newest
        return sign_spec(spec, manifest, (pair[0].read_bytes(), pair[1].read_bytes())).bytes()

    async def GetManifest(self, _request: object) -> pb.ManifestReply:  # noqa: N802 - as gRPC names it
        return pb.ManifestReply(document=self._place.sealed)

    async def SendReply(self, chunks: object) -> None:  # noqa: N802
        self.replies.append(b"".join([chunk.data async for chunk in chunks]))  # type: ignore[attr-defined]


def spec(manifest: Manifest, run: str = "run-1") -> RunSpec:
    return RunSpec(
        run=run,
        algorithm="dp-subn",
        settings={},
        epsilon=Fraction(1),
        tolerate=1,
        members=PARTIES,
        manifest_digest=manifest.digest,
    )


def answered(agent: Agent, curator: Curator, step: Step) -> object:
    if isinstance(step, Enrol):
        step = replace(step, request=curator.request(step.spec))
    # Over a connection to the curator that the manifest lists.
    agent._trusted = agent._listed()
    asyncio.run(agent._answer(curator, encode_step(step)))  # type: ignore[arg-type]
    return decode_reply(curator.replies[-1])[2]


def test_a_run_waits_until_its_owner_accepts_the_schema_and_nobody_restarts(place: Place) -> None:
    agent, curator = Agent(place.node()), Curator(place)
    newest = place.seal("newer")
    assert answered(agent, curator, Enrol(spec(newest))) == Pending(SCHEMA_AWAITED)
    assert isinstance(answered(agent, curator, Enrol(spec(place.first))), Enrolled), "a run of before is as before"
    answered(agent, curator, Close("run-1", "COMPLETED"))
    place.accept("newer")
    assert place.in_use() == place.first.schema_digest, "nothing in use changes yet"
    assert isinstance(answered(agent, curator, Enrol(spec(newest, "run-2"))), Enrolled)
    assert place.in_use() == newest.schema_digest
    assert not SchemaFile(place.north / "schema.json").ready_path.exists()


def test_a_schema_that_was_accepted_before_its_manifest_is_kept_ready_over_a_restart(place: Place) -> None:
    place.accept("newer")
    agent = Agent(place.node())
    assert place.in_use() == place.first.schema_digest
    newest = place.seal("newer")
    assert isinstance(answered(agent, Curator(place), Enrol(spec(newest))), Enrolled)


def test_a_crash_between_manifest_and_schema_is_mended_at_the_next_start(place: Place) -> None:
    place.accept("newer")
    newest = place.seal("newer")
    (place.north / "manifest.json").write_bytes(place.sealed)
    place.node().engine()
    assert place.in_use() == newest.schema_digest


def test_a_schema_that_was_put_in_place_by_hand_waits_for_its_manifest(place: Place) -> None:
    (place.north / "schema.json").write_bytes((place.folder / "newer.json").read_bytes())
    agent, curator = Agent(place.node()), Curator(place)
    with pytest.raises(OtherSchemaError, match="names another one"):
        answered(agent, curator, Enrol(spec(place.first)))
    newest = place.seal("newer")
    assert isinstance(answered(agent, curator, Enrol(spec(newest))), Enrolled)


def test_a_run_at_work_ends_over_the_schema_of_before(place: Place) -> None:
    agent, curator = Agent(place.node()), Curator(place)
    assert isinstance(answered(agent, curator, Enrol(spec(place.first))), Enrolled)
    place.accept("newer")
    newest = place.seal("newer")
    assert answered(agent, curator, Enrol(spec(newest, "run-2"))) == Pending(END_AWAITED)
    assert place.in_use() == place.first.schema_digest
    answered(agent, curator, Close("run-1", "COMPLETED"))
    assert isinstance(answered(agent, curator, Enrol(spec(newest, "run-2"))), Enrolled)


def test_a_run_that_enrolled_before_does_not_begin_over_rows_of_the_newer_schema(place: Place, monkeypatch) -> None:
    (place.folder / "south" / "manifest.json").write_bytes(place.sealed)
    for member in PARTIES:
        policy = place.folder / member / "policy.toml"
        policy.write_text(policy.read_text() + '\nsecure_sums = ["masks", "paillier"]\n')
    north, south = Agent(place.node()), Agent(Node(load_config(place.folder / "south" / "party.toml")))
    curator, asked = Curator(place), replace(spec(place.first), secure_sum=MASKS)
    enrolled = [answered(agent, curator, Enrol(asked)) for agent in (north, south)]
    plan = RunPlan(asked, tuple(Enrolment.from_dict(each.enrolment) for each in enrolled), None)
    # An owner takes longer than that to approve.
    monkeypatch.setattr("privity.party.config.AT_WORK_SECONDS", 0.0)
    place.accept("newer")
    newest = place.seal("newer")
    answered(north, curator, Enrol(replace(asked, run="run-2", manifest_digest=newest.digest)))
    assert place.in_use() == newest.schema_digest
    refused = answered(north, curator, Begin(plan))
    assert isinstance(refused, Refusal)
    assert "coded by another schema" in refused.message


def test_rows_that_do_not_fit_leave_manifest_and_schema_as_they_were(place: Place) -> None:
    node = place.node()
    node.engine()
    place.accept("narrow")
    place.seal("narrow")
    with pytest.raises(PrivityError, match="outside the domain"):
        node.manifests.offer(place.sealed, "the curator's manifest", node.check_manifest)
    assert not node.take_schema()
    assert node.manifests.current().serial == 1
    assert place.in_use() == place.first.schema_digest


def test_a_curator_takes_a_manifest_with_its_schema_only(place: Place) -> None:
    config = load_curator(place.folder / "curator" / "curator.toml")
    manifest = place.organiser.manifest_file
    assert curator_joining.accept(config, manifest) == (1, True)
    schemas = SchemaFile(config.schema, load_schema(config.schema))
    newest = place.seal("newer")
    for given in (None, place.folder / "narrow.json"):
        with pytest.raises(PrivityError, match="over another schema"):
            curator_joining.accept(config, manifest, given)
    assert schemas.of(newest).digest == place.first.schema_digest, "it has no other"
    assert curator_joining.accept(config, manifest, place.folder / "newer.json") == (2, True)
    assert schemas.of(newest).digest == newest.schema_digest, "a curator at work, too"
    request = RunRequest(algorithm="dp-subn", settings={}, epsilon=Fraction(1), tolerate=1, key_bits=3072, rows=None)
    request.check(newest, schemas.of(newest))
    with pytest.raises(PrivityError, match="differs from the one that the manifest of this run names"):
        request.check(place.first, schemas.of(newest))


def test_a_draft_is_neither_sealed_nor_accepted(place: Place) -> None:
    drafted = {**NEWER, "fields": [{**field, "readOffRows": "undeclared"} for field in NEWER["fields"]]}
    (place.folder / "draft.json").write_text(json.dumps(drafted))
    for takes in (place.seal, place.accept):
        with pytest.raises(PrivityError, match="read off the rows"):
            takes("draft")
    assert json.loads(place.sealed)["manifest"]["serial"] == 1


def test_a_manifest_of_another_organiser_changes_nothing(place: Place) -> None:
    place.accept("newer")
    forged = replace(place.first, serial=2, schema_digest=load_schema(place.folder / "newer.json").digest)
    document = json.dumps(sign_manifest(forged, Identity.generate())).encode()
    node = place.node()
    with pytest.raises(PrivityError, match="signature"):
        node.manifests.offer(document, "the curator's manifest", node.check_manifest)
    assert place.in_use() == place.first.schema_digest
