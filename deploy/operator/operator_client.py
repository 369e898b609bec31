"""The operator's side of the wire: submit a run, watch it, fetch its release."""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any, TypeVar

import grpc

from privity.common.errors import Catalogue, PrivityError, from_elsewhere
from privity.common.formats import read_json, shorten
from privity.common.node.connection_silence import SILENCE_SECONDS, StalledError, dialling_options
from privity.common.node.proxy import Proxy, channel_options
from privity.common.node.tls_check import Finding, Stage, check_connection
from privity.common.protocol.run_spec import check_run_name
from privity.common.release.release_contents import LARGEST_FILES, RUN
from privity.common.release.release_folder import without_times
from privity.common.release.release_verification import check_release
from privity.common.storage.canonical_json import fraction
from privity.common.storage.safe_files import appearing
from privity.common.text.visible import cut
from privity.common.wire.v1 import privity_pb2 as pb
from privity.common.wire.v1 import privity_pb2_grpc as rpc

LARGEST_REPLY = 1 << 26
"""The list of runs, and what a run of many parties waits for."""
CALL_SECONDS = 30
REACH_SECONDS, RETRY_SECONDS = 30, 0.5
SEE_LOG = "See the curator's log."
ASK_AGAIN = "Check the network between here and the curator, and ask again: a run goes on meanwhile."

Answer = TypeVar("Answer")


@dataclass(frozen=True)
class OperatorClient:
    """Calls to one curator with the operator's certificate.

    Attributes:
        address: ``host:port``.
        authority, certificate, key: PEM files.
        proxy: to dial through; without one the environment's variables count.
        silence: seconds without progress after which a stream is given up.
    """

    address: str
    authority: Path
    certificate: Path
    key: Path
    proxy: Proxy | None = None
    silence: float = SILENCE_SECONDS

    def _channel(self) -> grpc.Channel:
        files = (self.authority, self.key, self.certificate)
        credentials = grpc.ssl_channel_credentials(*(file.read_bytes() for file in files))
        options = channel_options(self.proxy) + dialling_options(self.silence)
        options.append(("grpc.max_receive_message_length", LARGEST_REPLY))
        return grpc.secure_channel(self.address, credentials, options=options)

    def submit(self, request: dict[str, Any], token: str, name: str = "") -> str:
        """Name of the run; the same token again names the same run.

        A curator that cannot be reached, having just been started perhaps, is tried again for a while.
        """
        message = pb.SubmitRequest(token=token, request=json.dumps(request).encode(), name=name)
        deadline = time.monotonic() + REACH_SECONDS
        while True:
            with self._channel() as channel:
                try:
                    found = str(_cut(rpc.OperatorStub(channel).Submit(message, timeout=CALL_SECONDS)).run)
                    return self._checked(found, name)
                except grpc.RpcError as error:
                    if not self._is_away(error) or time.monotonic() > deadline:
                        raise self._failed(error) from None
            time.sleep(RETRY_SECONDS)

    def _is_away(self, error: grpc.RpcError) -> bool:
        """Whether another try may find the curator."""
        if not isinstance(error, grpc.Call) or error.code() is not grpc.StatusCode.UNAVAILABLE:
            return False
        return not self.check().of_identity

    def check(self) -> Finding:
        """How far a connection comes, step by step."""
        return check_connection(self.address, None, self.authority, self.certificate, self.key, self.proxy)

    def known(self) -> bool:
        """Whether the curator takes this certificate for an operator's."""
        with self._channel() as channel:
            try:
                # No run is named so: it says that only to those whom it knows.
                next(iter(rpc.OperatorStub(channel).Watch(pb.RunName(run=""), timeout=CALL_SECONDS)), None)
            except grpc.RpcError as error:
                return isinstance(error, grpc.Call) and error.code() is grpc.StatusCode.NOT_FOUND
        return False

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

    def _ask(self, call: Callable[[rpc.OperatorStub], Answer]) -> Answer:
        with self._channel() as channel:
            try:
                return _cut(call(rpc.OperatorStub(channel)))
            except grpc.RpcError as error:
                raise self._failed(error) from None

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

    def _moving(self, call: Any) -> Iterator[Any]:
        """What a stream brings.

        Raises:
            StalledError: it has brought nothing for ``silence`` seconds.
        """
        while True:
            timer = threading.Timer(self.silence, call.cancel)
            timer.daemon = True
            timer.start()
            try:
                message = next(call, None)
            except grpc.RpcError:
                if call.code() is grpc.StatusCode.CANCELLED:
                    raise StalledError from None
                raise
            finally:
                timer.cancel()
            if message is None:
                return
            yield message

    def fetch(self, run: str, out: Path) -> None:
        """Write the release of this run as the new folder ``out``, checked as by ``privity verify``, or not at all.

        Raises:
            PrivityError: no connection, what the curator refused, or tampered: it sent what no release has, or the
                release of another run.
            ProblemsFound: files that are not those of ``run.json``, do not fit their formats, or not each other.
        """
        out.absolute().parent.mkdir(parents=True, exist_ok=True)
        with appearing(out.absolute()) as scratch, self._channel() as channel:
            scratch.mkdir()
            try:
                self._write(self._moving(rpc.OperatorStub(channel).Fetch(pb.RunName(run=run))), run, scratch)
            except (grpc.RpcError, StalledError) as error:
                raise self._failed(error) from None
            check_release(scratch)
            if (found := read_json(scratch / RUN)["run"]) != run:
                raise self._strange(run, f"the release of another run, {shorten(found)}")
            without_times(scratch)

    def _write(self, chunks: Iterator[pb.FileChunk], run: str, folder: Path) -> None:
        """Each file of a release at most once, nothing else, and no more of it than a release can have.

        Names come over the wire: none but a known one is made a path.
        """
        strange = partial(self._strange, run)
        awaited, file, left = dict(LARGEST_FILES), None, 0
        with ExitStack() as opened:
            for chunk in chunks:
                name = chunk.name
                if name not in ("", *awaited):
                    known = name in LARGEST_FILES
                    raise strange(f"{name} twice" if known else f"a file {name[:80]!a}, which no release has")
                if name:
                    left = awaited.pop(name)
                    opened.close()
                    file = opened.enter_context((folder / name).open("wb"))
                if file is None or not (name or chunk.data):
                    raise strange("a part of no file, or an empty one")
                left -= len(chunk.data)
                if left < 0:
                    raise strange(f"more of {Path(file.name).name} than any release has")
                file.write(chunk.data)

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

    def _strange(self, run: str, what: str) -> PrivityError:
        reason = f"the curator sent {what}"
        return PrivityError(Catalogue.TAMPERED, what=f"the release of {run} from {self.address}", reason=reason)

    def _failed(self, error: grpc.RpcError | StalledError) -> PrivityError:
        """What went wrong: no connection, and why not, or what the curator said."""
        if isinstance(error, StalledError):
            reason = f"nothing has moved on it for {self.silence:g} s"
            return PrivityError(Catalogue.CONNECTION_FAILED, address=self.address, reason=reason, hint=ASK_AGAIN)
        if isinstance(error, grpc.Call) and error.code() is grpc.StatusCode.UNAVAILABLE:
            found = self.check()
            if found.stage is not Stage.THROUGH:
                return PrivityError(
                    Catalogue.CONNECTION_FAILED, address=self.address, reason=found.reason, hint=found.remedy
                )
            lost = "the connection was lost, and stands again by now"
            return PrivityError(Catalogue.CONNECTION_FAILED, address=self.address, reason=lost, hint=ASK_AGAIN)
        details = error.details() if isinstance(error, grpc.Call) else None
        said, remedy = from_elsewhere(details or "the call failed")
        return PrivityError(Catalogue.CURATOR_REFUSED, address=self.address, reason=said, hint=remedy or SEE_LOG)


def _cut(message: Any) -> Any:
    """A message of the curator, and those in it, whose texts are no longer than any that it has to say."""
    for field, value in message.ListFields():
        if isinstance(value, str):
            setattr(message, field.name, cut(value))
        elif field.message_type is not None:
            for part in value:
                _cut(part)
    return message
