"""The operator's side of the wire: submit a run, watch it, fetch its release."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import grpc

from privity.common.errors import Catalogue, PrivityError
from privity.common.node.connection_silence import StalledError
from privity.common.protocol.run_spec import check_run_name
from privity.common.runs.signed_request import SignedRequest
from privity.common.storage.canonical_json import fraction
from privity.common.text.visible import cut
from privity.common.wire.v1 import privity_pb2 as pb
from privity.common.wire.v1 import privity_pb2_grpc as rpc
from privity.deploy.operator.curator_link import Answer, CuratorLink

CALL_SECONDS = 30
REACH_SECONDS, RETRY_SECONDS = 30, 0.5


@dataclass(frozen=True)
class OperatorClient(CuratorLink):
    """Calls to one curator with the operator's certificate."""

    _stub = rpc.OperatorStub

    def submit(self, request: SignedRequest, token: str, name: str = "") -> str:
        """Name of the run; the same token again names the same run.

        Args:
            name: what the run has to be called; any if it is empty.
        """
        message = pb.SubmitRequest(token=token, request=request.bytes())

        def submitted() -> str:
            with self._channel() as channel:
                return str(_cut(rpc.OperatorStub(channel).Submit(message, timeout=CALL_SECONDS)).run)

        return self._checked(self.reached(submitted), name)

    def reached(self, call: Callable[[], Answer]) -> Answer:
        """What a call gives. A curator that is away, having just been started perhaps, is tried again for a while."""
        deadline = time.monotonic() + REACH_SECONDS
        while True:
            try:
                return call()
            except grpc.RpcError as error:
                if not self._is_away(error) or time.monotonic() > deadline:
                    raise self._failed(error) from None
            except PrivityError as error:
                # The first manifest could not be had.
                away = error.kind is Catalogue.CONNECTION_FAILED and not self.check().of_identity
                if not away or time.monotonic() > deadline:
                    raise
            time.sleep(RETRY_SECONDS)

    def known(self) -> bool:
        """Whether the curator takes this certificate for an operator's."""
        try:
            self.manifest()
        except PrivityError:
            return False
        return True

    def stop(self, run: str, *, discard: bool = False) -> None:
        """Stop the run; for good if it is discarded."""
        self._ask(lambda stub: stub.Stop(pb.StopRequest(run=run, discard=discard), timeout=CALL_SECONDS))

    def resume(self, run: str) -> None:
        """Let a stopped run go on."""
        self._ask(lambda stub: stub.Resume(pb.RunName(run=run), timeout=CALL_SECONDS))

    def runs(self) -> pb.RunList:
        """The newest runs of the curator, the oldest of them first, and how many there are besides."""
        found = self._ask(lambda stub: stub.List(pb.ListRequest(), timeout=CALL_SECONDS))
        for status in found.runs:
            self._checked(status.run, epsilon=status.epsilon)
        return found

    def why(self, run: str) -> pb.RunStatus:
        """What the run waits for."""
        status = self._ask(lambda stub: stub.Why(pb.RunName(run=run), timeout=CALL_SECONDS))
        self._checked(status.run, run, status.epsilon)
        return status

    def manifest(self) -> bytes:
        """The signed document that the curator goes by."""
        return bytes(self._ask(lambda stub: stub.GetManifest(pb.ManifestRequest(), timeout=CALL_SECONDS)).document)

    def limits(self) -> list[bytes]:
        """The signed documents of the limits that parties publish."""
        return list(self._ask(lambda stub: stub.GetLimits(pb.LimitsRequest(), timeout=CALL_SECONDS)).documents)

    def parties(self) -> list[pb.PartyStatus]:
        """Each party, and whether its node is connected."""
        return list(self._ask(lambda stub: stub.GetParties(pb.PartiesRequest(), timeout=CALL_SECONDS)).parties)

    def _ask(self, call: Callable[[rpc.OperatorStub], Answer]) -> Answer:
        return self._persistent(lambda channel: _cut(call(rpc.OperatorStub(channel))))

    def watch(self, run: str) -> Iterator[pb.RunEvent]:
        """Events of the run until it has ended; a connection that is lost is dialled anew for a while."""
        last, deadline = None, time.monotonic() + REACH_SECONDS
        while True:
            with self._channel() as channel:
                try:
                    for event in map(_cut, self._moving(rpc.OperatorStub(channel).Watch(pb.RunName(run=run)))):
                        deadline = time.monotonic() + self.silence + REACH_SECONDS
                        self._checked(run, epsilon=event.epsilon)
                        if event != last:
                            yield event
                        last = event
                    return
                except (grpc.RpcError, StalledError) as error:
                    again = isinstance(error, StalledError) or self._is_away(error)
                    if not again or time.monotonic() > deadline:
                        raise self._failed(error) from None
            time.sleep(RETRY_SECONDS)

    def _checked(self, run: str, asked: str = "", epsilon: str = "") -> str:
        """The name of a run from the curator, as it stands in commands that are shown. Numbers are shown, too.

        Args:
            asked: the run that it has to be; any if it is empty.

        Raises:
            PrivityError: malformed-message.
        """
        try:
            check_run_name(run)
            fraction(epsilon or "0")
        except ValueError:
            raise PrivityError(Catalogue.MALFORMED, sender=f"the curator {self.address}") from None
        if run != (asked or run):
            raise PrivityError(Catalogue.MALFORMED, sender=f"the curator {self.address}, asked for the run {asked},")
        return run


def _cut(message: Any) -> Any:
    """A message of the curator, and those in it, whose texts are no longer than any that it has to say."""
    for field, value in message.ListFields():
        if isinstance(value, str):
            setattr(message, field.name, cut(value))
        elif field.message_type is not None:
            for part in value:
                _cut(part)
    return message
