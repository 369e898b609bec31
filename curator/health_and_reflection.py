"""The standard gRPC services about a server: health, and reflection. Members may ask, nobody else."""

from __future__ import annotations

from collections.abc import AsyncIterable, AsyncIterator, Awaitable, Callable
from typing import Any

import grpc.aio
from grpc_health.v1 import health, health_pb2, health_pb2_grpc
from grpc_reflection.v1alpha import reflection, reflection_pb2_grpc

from privity.common.wire.v1 import privity_pb2 as pb

Admit = Callable[[grpc.aio.ServicerContext], Awaitable[None]]
"""Ends the call of whoever is no member."""

SERVICES = tuple(service.full_name for service in pb.DESCRIPTOR.services_by_name.values())


class MemberHealth(health.aio.HealthServicer):
    """Serving, or about to stop: the server as a whole, and each of its services."""

    def __init__(self, admit: Admit) -> None:
        super().__init__()
        self._admit = admit

    async def Check(self, request: Any, context: grpc.aio.ServicerContext) -> Any:  # noqa: N802 - the service's own
        await self._admit(context)
        return await super().Check(request, context)

    async def Watch(self, request: Any, context: grpc.aio.ServicerContext) -> None:  # noqa: N802
        await self._admit(context)
        await super().Watch(request, context)


class MemberReflection(reflection.aio.ReflectionServicer):
    """What services and messages there are, for tools that ask."""

    def __init__(self, admit: Admit) -> None:
        super().__init__((*SERVICES, health.SERVICE_NAME, reflection.SERVICE_NAME))
        self._admit = admit

    async def ServerReflectionInfo(  # type: ignore[override]  # noqa: N802 - the stubs take it for no generator
        self, request_iterator: AsyncIterable[Any], context: grpc.aio.ServicerContext
    ) -> AsyncIterator[Any]:
        await self._admit(context)
        responses: Any = super().ServerReflectionInfo(request_iterator, context)
        async for response in responses:
            yield response


async def add_health(server: grpc.aio.Server, admit: Admit) -> MemberHealth:
    """The health service, everything serving."""
    servicer = MemberHealth(admit)
    for service in SERVICES:
        await servicer.set(service, health_pb2.HealthCheckResponse.SERVING)
    health_pb2_grpc.add_HealthServicer_to_server(servicer, server)
    return servicer


def add_reflection(server: grpc.aio.Server, admit: Admit) -> None:
    """The reflection service."""
    reflection_pb2_grpc.add_ServerReflectionServicer_to_server(MemberReflection(admit), server)
