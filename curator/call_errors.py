"""Every call ends well, or by an error of the catalogue: gRPC itself would tell and log whatever an error holds."""

from __future__ import annotations

import logging
import traceback
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from typing import Any

import grpc
import grpc.aio
from google.protobuf.message import DecodeError

from privity.common.errors import Catalogue, PrivityError
from privity.common.node.connection_silence import StalledError
from privity.curator.call_quotas import CallQuotas
from privity.curator.metrics import CuratorMetrics, Unwelcome

LONGEST_DETAILS = 3_000
"""Most bytes of a message, and of a remedy, as gRPC sends them: longer metadata would take the status with it."""
STALLED = (grpc.StatusCode.DEADLINE_EXCEEDED, "nothing moves on this connection")
_MALFORMED = object()

_log = logging.getLogger("privity.curator")


async def abort(context: grpc.aio.ServicerContext, error: PrivityError) -> None:
    """End the call with the error's status; the text is from the catalogue."""
    # It may repeat what the caller or a party sent.
    await context.abort(getattr(grpc.StatusCode, error.status), f"{_cut(error.message)}\n{_cut(error.remedy)}")


def _cut(text: str) -> str:
    """The text, or as much of its beginning as is sent in LONGEST_DETAILS bytes: visible ASCII as it is, %XX a byte."""
    size = 0
    for place, sign in enumerate(text):
        size += 1 if " " <= sign <= "~" and sign != "%" else 3 * len(sign.encode(errors="replace"))
        if size > LONGEST_DETAILS:
            return text[:place] + "..."
    return text


@asynccontextmanager
async def _named(context: grpc.aio.ServicerContext) -> AsyncIterator[None]:
    """What goes wrong in a call ends it by name."""
    try:
        yield
    except PrivityError as error:
        await abort(context, error)
    except StalledError:
        await context.abort(*STALLED)
    except grpc.aio.BaseError:
        # The call has ended already.
        raise
    except Exception as error:
        # Its text might hold anything, such as the path of a file.
        place = traceback.extract_tb(error.__traceback__)[-1]
        _log.error(
            "an internal error",
            extra={"error": type(error).__name__, "file": place.filename, "line": place.lineno},
        )
        await abort(context, PrivityError(Catalogue.INTERNAL, reason=type(error).__name__))


class NamedErrors(grpc.aio.ServerInterceptor):
    """Stands before every service."""

    def __init__(self, metrics: CuratorMetrics, quotas: CallQuotas) -> None:
        self._metrics = metrics
        self._quotas = quotas

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

        request: Callable[[Any], Any] = self._stream if handler.request_streaming else self._unary

        def begin(given: Any, context: grpc.aio.ServicerContext) -> Any:
            self._quotas.take(handler_call_details.method, context.auth_context())
            return request(given)

        if handler.response_streaming:
            name = "stream_stream" if handler.request_streaming else "unary_stream"
            wrapped: Any = _streamed(getattr(handler, name), begin)
        else:
            name = "stream_unary" if handler.request_streaming else "unary_unary"
            wrapped = _single(getattr(handler, name), begin)
        return handler._replace(request_deserializer=checked, **{name: wrapped})

    def _unary(self, request: Any) -> Any:
        if request is _MALFORMED:
            self._metrics.call_refused(Unwelcome.MALFORMED)
            raise PrivityError(Catalogue.MALFORMED, sender="the caller")
        return request

    async def _stream(self, requests: AsyncIterator[Any]) -> AsyncIterator[Any]:
        async for request in requests:
            yield self._unary(request)


Begun = Callable[[Any, grpc.aio.ServicerContext], Any]


def _single(method: Callable[..., Awaitable[Any]], begin: Begun) -> Callable[..., Awaitable[Any]]:
    async def call(request: Any, context: grpc.aio.ServicerContext) -> Any:
        async with _named(context):
            return await method(begin(request, context), context)

    return call


def _streamed(method: Callable[..., Any], begin: Begun) -> Callable[..., Any]:
    async def call(request: Any, context: grpc.aio.ServicerContext) -> AsyncIterator[Any]:
        async with _named(context):
            answers = method(begin(request, context), context)
            if hasattr(answers, "__aiter__"):
                async for answer in answers:
                    yield answer
            else:
                # A method that writes its answers to the context.
                await answers

    return call
