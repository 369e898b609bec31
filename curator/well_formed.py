"""Requests that are no messages end their call by a named error: gRPC itself would log what they hold."""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable
from typing import Any

import grpc
import grpc.aio
from google.protobuf.message import DecodeError

from common.errors import Catalogue, PrivityError
from curator.metrics import CuratorMetrics, Unwelcome
from curator.servicer import abort

_MALFORMED = object()


class WellFormed(grpc.aio.ServerInterceptor):
    """Stands before every service."""

    def __init__(self, metrics: CuratorMetrics) -> None:
        self._metrics = metrics

    async def intercept_service(
        self,
        continuation: Callable[[grpc.HandlerCallDetails], Awaitable[Any]],
        handler_call_details: grpc.HandlerCallDetails,
    ) -> Any:
        handler = await continuation(handler_call_details)
        if handler is None:
            return None
        read = handler.request_deserializer

        def checked(data: bytes) -> Any:
            try:
                return read(data)
            except DecodeError:
                return _MALFORMED

        request = self._stream if handler.request_streaming else self._unary
        if handler.response_streaming:
            name = "stream_stream" if handler.request_streaming else "unary_stream"
            wrapped: Any = _streamed(getattr(handler, name), request)
        else:
            name = "stream_unary" if handler.request_streaming else "unary_unary"
            wrapped = _single(getattr(handler, name), request)
        return handler._replace(request_deserializer=checked, **{name: wrapped})

    async def _refuse(self, context: grpc.aio.ServicerContext) -> None:
        self._metrics.call_refused(Unwelcome.MALFORMED)
        await abort(context, PrivityError(Catalogue.MALFORMED, sender="the caller"))

    async def _unary(self, request: Any, context: grpc.aio.ServicerContext) -> Any:
        if request is _MALFORMED:
            await self._refuse(context)
        return request

    async def _stream(self, requests: AsyncIterator[Any], context: grpc.aio.ServicerContext) -> AsyncIterator[Any]:
        async def checked() -> AsyncIterator[Any]:
            async for request in requests:
                yield await self._unary(request, context)

        return checked()


Checked = Callable[[Any, grpc.aio.ServicerContext], Awaitable[Any]]


def _single(method: Callable[..., Awaitable[Any]], check: Checked) -> Callable[..., Awaitable[Any]]:
    async def call(request: Any, context: grpc.aio.ServicerContext) -> Any:
        return await method(await check(request, context), context)

    return call


def _streamed(method: Callable[..., Any], check: Checked) -> Callable[..., Any]:
    async def call(request: Any, context: grpc.aio.ServicerContext) -> AsyncIterator[Any]:
        answers = method(await check(request, context), context)
        if hasattr(answers, "__aiter__"):
            async for answer in answers:
                yield answer
        else:
            # A method that writes its answers to the context.
            await answers

    return call
