"""The harness over real gRPC and real TLS: production server, servicer, desk and agents in one loop."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Self

import grpc.aio

from common.crypto.certificates import Role, issue, make_authority
from common.protocol.plan import Enrolment, RunPlan, RunSpec
from common.protocol.steps import Begin, Enrol, Enrolled
from common.protocol.sum_kind import Method
from curator.meter import Meter
from curator.server import CuratorConfig, CuratorServer
from curator.session import NetworkSession
from party.agent import Agent
from party.config import PartyConfig
from tests.harness.consortium import TestConsortium

HOST = "localhost"


class NetworkConsortium:
    """Serves a TestConsortium's parties through production agents to a production curator."""

    def __init__(
        self,
        folder: Path,
        consortium: TestConsortium,
        *,
        interceptors: tuple[grpc.aio.ServerInterceptor, ...] = (),
        patience: float = 20.0,
    ) -> None:
        self.folder = folder
        self.consortium = consortium
        self._interceptors = interceptors
        self.authority = make_authority("test authority")
        (folder / "authority.pem").write_bytes(self.authority.cert_pem)
        certificate, key = self.certificate("curator", "curator", (HOST, "127.0.0.1"))
        unused = folder / "unused"
        config = CuratorConfig(
            "127.0.0.1:0",
            certificate,
            key,
            folder / "authority.pem",
            unused,
            unused,
            unused,
            folder / "curator",
            patience,
        )
        self.server = CuratorServer(config, consortium.manifest, consortium.schema)
        self.port = 0
        self._agents: dict[str, asyncio.Task[None]] = {}

    def certificate(self, member: str, role: Role, hosts: tuple[str, ...] = ()) -> tuple[Path, Path]:
        """Files of a certificate and its key, issued by the consortium's authority."""
        certificate, key = issue(self.authority, member, role, hosts)
        files = (self.folder / f"{role}-{member}.pem", self.folder / f"{role}-{member}.key")
        for file, content in zip(files, (certificate, key), strict=True):
            file.write_bytes(content)
        return files

    async def __aenter__(self) -> Self:
        self.port = await self.server.start(self._interceptors)
        for name in self.consortium.parties:
            self.start_agent(name)
        return self

    def start_agent(self, name: str) -> asyncio.Task[None]:
        certificate, key = self.certificate(name, "party")
        unused = self.folder / "unused"
        config = PartyConfig(
            name=name,
            curator=f"{HOST}:{self.port}",
            curator_name=None,
            data=unused,
            schema=unused,
            policy=unused,
            manifest=unused,
            organiser_key=unused,
            keys=unused,
            certificate=certificate,
            key=key,
            authority=self.folder / "authority.pem",
            state=unused,
        )
        task = asyncio.create_task(Agent(config, self.consortium.parties[name].engine).serve())
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

    async def begin(self, spec: RunSpec | None = None) -> RunPlan:
        """Enrol every party over the network and give it the plan."""
        spec = spec or self.consortium.spec()

        async def enrol(member: str) -> Enrolment:
            reply = await self.server.desk.ask(member, Enrol(spec), "enrolment")
            assert isinstance(reply, Enrolled)
            return Enrolment.from_dict(reply.enrolment)

        enrolments = await asyncio.gather(*(enrol(member) for member in spec.members))
        modulus = None if spec.secure_sum.method is Method.MASKS else self.consortium.public.n
        plan = RunPlan(spec, tuple(enrolments), modulus)
        await asyncio.gather(*(self.server.desk.ask(m, Begin(plan), "enrolment") for m in spec.members))
        return plan

    def session(self, plan: RunPlan) -> NetworkSession:
        c = self.consortium
        return NetworkSession(plan, c.manifest, c.schema, c.secret, c.journal, self.server.desk.ask, Meter())
