"""The harness over real gRPC and real TLS: production server, servicer, desk and agents in one loop."""

from __future__ import annotations

import asyncio
import json
import secrets
import shutil
from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any, Self

import grpc.aio
from prometheus_client import CollectorRegistry

from privity.common.consortium.manifest import CURATOR, Manifest, sign_manifest
from privity.common.consortium.manifest_file import ManifestFile
from privity.common.consortium.schema_file import SchemaFile
from privity.common.node.connection_silence import SILENCE_SECONDS
from privity.common.protocol.run_spec import Enrolment, RunPlan, RunSpec
from privity.common.protocol.secure_sum_method import Method
from privity.common.protocol.session import Session
from privity.common.protocol.steps import Begin, Enrol, Enrolled
from privity.common.runs.signed_request import sign_request
from privity.common.storage.canonical_json import b64
from privity.common.storage.safe_files import write_whole
from privity.curator import announcements
from privity.curator.answer_store import Answers
from privity.curator.leases import DAY
from privity.curator.network_backend import NetworkBackend
from privity.curator.run_queue import RUNS_AT_ONCE, Runs
from privity.curator.server import CuratorConfig, CuratorServer
from privity.curator.traffic_meter import Meter
from privity.party.agent import Agent
from privity.party.config import Node, PartyConfig, outbox_of
from privity.party.keys import KeyFiles
from privity.party.metrics import PartyMetrics
from privity.party.other_nodes import OtherNodes
from privity.party.owner_notices import OwnerNotices
from privity.party.policy import Policy
from privity.party.policy_file import Obeyed, PolicyFile
from privity.party.sources.source_settings import RowSettings
from privity.party.step_answers import PartyEngine
from tests.harness.consortium import TestConsortium
from tests.harness.tls import HOST, Pair

announcements.CLOSE_SECONDS = 1  # for parties that a test keeps away


class AnyPolicy(PolicyFile):
    """The policy of an engine, which is in no file."""

    def __init__(self, current: Callable[[], Policy]) -> None:
        self._current = current

    def current(self) -> Policy:
        return self._current()

    def obeyed(self) -> Obeyed:
        return Obeyed("", "")


class TestNode(Node):
    """A node around an engine that is there already."""

    __test__ = False

    def __init__(self, config: PartyConfig, engine: PartyEngine) -> None:
        self.config = config
        self.process = secrets.token_hex(16)
        self.other_nodes = OtherNodes(config.name, engine._journal)
        self.manifests = ManifestFile(config.manifest, config.organiser_key)
        self.schemas = SchemaFile(config.schema)
        self._engine = engine
        self.metrics = PartyMetrics(CollectorRegistry(), engine._releases.ledger)
        self.outbox = outbox_of(config, engine._journal)
        self._releases, self._journal = engine._releases, engine._journal
        self.policies = AnyPolicy(engine._admission._policy)
        self._notices = OwnerNotices(
            self.outbox, engine._journal, engine._releases.ledger, lambda: self.policies.current().epsilon_per_run
        )
        engine.listener, engine.expired = self._answered, self._notices.expired
        self.keys = engine.keys
        self.files = KeyFiles(config.name, config.keys, config.certificate, config.key)

    def engine(self) -> PartyEngine:
        self._engine.adopt(self.manifests.current())
        return self._engine


def submit_signed(runs: Runs, operator: tuple[bytes, bytes], token: str, request: bytes, name: str = "") -> str:
    """Name of the run of a request that the operator with this certificate and key (PEM) signs and submits."""
    certificate, key = operator
    run = name or f"run-{secrets.token_hex(6)}"
    signed = sign_request(json.loads(request), run, runs._manifests.current(), certificate, key)
    return runs.take(token, runs.read(signed.bytes(), signed.operator))


def channel(network: NetworkConsortium, pair: Pair, authority: bytes | None = None) -> grpc.aio.Channel:
    """A connection to the curator under any certificate (PEM) and key."""
    certificate, key = pair
    trusted = authority or network.consortium.tls.authority.cert_pem
    return grpc.aio.secure_channel(f"{HOST}:{network.port}", grpc.ssl_channel_credentials(trusted, key, certificate))


class NetworkConsortium:
    """Serves a TestConsortium's parties through production agents to a production curator.

    Args:
        silence: seconds without progress after which either side gives a connection up.
        dialling: whether the parties dial at once; otherwise each is started by the test.

    Attributes:
        processes: the number of each agent's process, by party.
    """

    def __init__(
        self,
        folder: Path,
        consortium: TestConsortium,
        *,
        interceptors: tuple[grpc.aio.ServerInterceptor, ...] = (),
        patience: float = 20.0,
        metrics: str | None = None,
        party_metrics: Mapping[str, str] | None = None,
        reflection: bool = False,
        lease: float = 1e6,
        silence: float = SILENCE_SECONDS,
        dialling: bool = True,
        runs_at_once: int = RUNS_AT_ONCE,
    ) -> None:
        self._silence, self._dialling = silence, dialling
        self._party_metrics = party_metrics or {}
        self.folder = folder
        self.consortium = consortium
        self._interceptors = interceptors
        (folder / "organiser.pub").write_text(b64(consortium.tls.organiser.public().signing), encoding="ascii")
        self.seal(consortium.manifest)
        _, key = consortium.tls.files(folder, "curator", CURATOR)
        unused = folder / "unused"
        manifest, organiser_key = folder / "manifest.json", folder / "organiser.pub"
        state = folder / "curator"
        config = CuratorConfig(
            listen="127.0.0.1:0",
            key=key,
            manifest=manifest,
            organiser_key=organiser_key,
            schema=unused,
            state=state,
            patience=patience,
            lease_days=lease / DAY,
            runs_at_once=runs_at_once,
            metrics=metrics,
            reflection=reflection,
        )
        manifests = ManifestFile(manifest, organiser_key)
        self.server = CuratorServer(config, manifests, consortium.schema, silence)
        self.port = 0
        self.processes: dict[str, str] = {}
        self._agents: dict[str, asyncio.Task[None]] = {}

    def seal(self, manifest: Manifest) -> None:
        """What the organiser gives to the curator."""
        write_whole(self.folder / "manifest.json", json.dumps(sign_manifest(manifest, self.consortium.tls.organiser)))

    async def __aenter__(self) -> Self:
        self.port = await self.server.start(self._interceptors)
        try:
            for name in self.consortium.parties if self._dialling else ():
                self.start_agent(name)
        except BaseException:
            # A server that is not stopped keeps the process from ending.
            await self.__aexit__()
            raise
        return self

    def start_agent(self, name: str, pair: Pair | None = None, **changes: Any) -> asyncio.Task[None]:
        """Dial in as this party; with another pair than the one that the manifest lists, if it is given.

        It has served before, so that it holds a manifest, unless another place of it is among the changes.

        Args:
            changes: of the node's settings.
        """
        certificate, key = self.consortium.tls.files(self.folder, "party", name, pair)
        unused = self.folder / "unused"
        config = PartyConfig(
            name=name,
            curator=f"{HOST}:{self.port}",
            curator_name=None,
            rows=RowSettings(str(unused), unused),
            schema=unused,
            policy=unused,
            manifest=self.folder / f"{name}-manifest.json",
            organiser_key=self.folder / "organiser.pub",
            keys=unused,
            certificate=certificate,
            key=key,
            state=unused,
            metrics=self._party_metrics.get(name),
        )
        config = replace(config, **changes)
        if "manifest" not in changes and not config.manifest.exists():
            shutil.copy(self.folder / "manifest.json", config.manifest)
        node = TestNode(config, self.consortium.parties[name].engine)
        self.processes[name] = node.process
        task = asyncio.create_task(Agent(node, self._silence).serve())
        self._agents[name] = task
        return task

    async def stop_agent(self, name: str) -> None:
        """End a party's connection, as a lost network does."""
        task = self._agents.pop(name)
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)

    async def __aexit__(self, *_error: object) -> None:
        for name in list(self._agents):
            await self.stop_agent(name)
        await self.server.stop()

    def submit(self, token: str, request: bytes, name: str = "") -> str:
        """A run, as an operator's client submits it."""
        return submit_signed(self.server.runs, self.consortium.operator, token, request, name)

    async def begin(self, spec: RunSpec | None = None) -> RunPlan:
        """Enrol every party over the network and give it the plan."""
        spec = spec or self.consortium.spec()

        async def enrol(member: str) -> Enrolment:
            reply = await self.server.desk.ask(member, self.consortium.signed(Enrol(spec)), "enrolment")
            assert isinstance(reply, Enrolled)
            return Enrolment.from_dict(reply.enrolment)

        enrolments = await asyncio.gather(*(enrol(member) for member in spec.members))
        modulus = None if spec.secure_sum.method is Method.MASKS else self.consortium.public.n
        plan = RunPlan(spec, tuple(enrolments), modulus)
        await asyncio.gather(*(self.server.desk.ask(m, Begin(plan), "enrolment") for m in spec.members))
        return plan

    def session(self, plan: RunPlan) -> Session:
        c = self.consortium
        meter = Meter()
        answers = Answers(c.journal, self.server.desk.ask, meter)
        return NetworkBackend(plan, c.manifest, c.schema, c.secret, answers, meter).session()
