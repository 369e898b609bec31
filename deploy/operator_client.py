"""The operator's side of the wire: submit a run, watch it, fetch its release."""

from __future__ import annotations

import json
import secrets
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import grpc

from common.errors import Catalogue, PrivityError
from common.wire.v1 import privity_pb2 as pb
from common.wire.v1 import privity_pb2_grpc as rpc

CALL_SECONDS = 30


@dataclass(frozen=True)
class OperatorClient:
    """Calls to one curator with the operator's certificate.

    Args:
        folder: holds ``authority.pem``, ``tls.pem`` and ``tls.key``.
    """

    folder: Path
    address: str

    def _channel(self) -> grpc.Channel:
        credentials = grpc.ssl_channel_credentials(
            *((self.folder / name).read_bytes() for name in ("authority.pem", "tls.key", "tls.pem"))
        )
        return grpc.secure_channel(self.address, credentials)

    def submit(self, request: dict[str, Any]) -> str:
        """Name of the new run."""
        with self._channel() as channel:
            message = pb.SubmitRequest(token=secrets.token_hex(16), request=json.dumps(request).encode())
            try:
                return str(rpc.OperatorStub(channel).Submit(message, timeout=CALL_SECONDS).run)
            except grpc.RpcError as error:
                raise self._failed(error) from None

    def watch(self, run: str) -> Iterator[pb.RunEvent]:
        """Events of the run until it has ended."""
        with self._channel() as channel:
            try:
                yield from rpc.OperatorStub(channel).Watch(pb.RunName(run=run))
            except grpc.RpcError as error:
                raise self._failed(error) from None

    def fetch(self, run: str, folder: Path) -> None:
        """Write the files of the release into ``folder``, which must exist."""
        with self._channel() as channel:
            file = None
            try:
                for chunk in rpc.OperatorStub(channel).Fetch(pb.RunName(run=run)):
                    if chunk.name:
                        if file:
                            file.close()
                        # The name comes over the wire: never let it leave the folder.
                        file = (folder / Path(chunk.name).name).open("wb")
                    if file:
                        file.write(chunk.data)
            except grpc.RpcError as error:
                raise self._failed(error) from None
            finally:
                if file:
                    file.close()

    def _failed(self, error: grpc.RpcError) -> PrivityError:
        details = error.details() if isinstance(error, grpc.Call) else None
        return PrivityError(
            Catalogue.CONNECTION_FAILED, address=self.address, reason=details or "the call failed",
            hint="See the curator's log.",
        )  # fmt: skip
