"""A member's own calls to its curator: the connection, what may go wrong with it, and the download of a release."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import ExitStack, suppress
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any, ClassVar, TypeVar

import grpc

from privity.common.consortium.manifest import Manifest
from privity.common.consortium.manifest_file import ManifestFile
from privity.common.errors import Catalogue, PrivityError, from_elsewhere
from privity.common.formats import read_json
from privity.common.node.connection_silence import SILENCE_SECONDS, StalledError
from privity.common.node.curator_trust import any_host_of, curator_certificate, member_channel
from privity.common.node.proxy import Proxy
from privity.common.node.tls_check import Finding, Stage, certificate_shown, check_connection
from privity.common.release.attestations import release_digest
from privity.common.release.release_contents import ATTESTATIONS, LARGEST_FILES, RUN
from privity.common.release.release_folder import without_times
from privity.common.release.verification.signature_verification import check_signatures, unchecked
from privity.common.storage.safe_files import appearing, read_regular
from privity.common.text.short_values import shorten
from privity.common.wire.v1 import privity_pb2 as pb
from privity.common.wire.v1 import privity_pb2_grpc as rpc
from privity.party.config import PartyConfig

LARGEST_REPLY = 1 << 26
"""The list of runs, and what a run of many parties waits for."""
SEE_LOG = "See the curator's log."
ASK_AGAIN = "Check the network between here and the curator, and ask again: a run goes on meanwhile."
MOST_CALLS = 3
"""How often a call is made whose connection is lost and stands again at once."""

Answer = TypeVar("Answer")


@dataclass(frozen=True)
class CuratorLink:
    """Calls to one curator with a member's certificate.

    Attributes:
        address: ``host:port``.
        manifests: the member's copy of the manifest, which lists the only certificate that is taken for the curator's;
            the signatures of a release are checked by the key by which it is.
        certificate, key: the member's own, as PEM files.
        proxy: to dial through; without one the environment's variables count.
        silence: seconds without progress after which a stream is given up.
        curator_name: host name that the curator's certificate must show, if it is not the one dialled.
    """

    address: str
    manifests: ManifestFile
    certificate: Path
    key: Path
    proxy: Proxy | None = None
    silence: float = SILENCE_SECONDS
    curator_name: str | None = None

    _stub: ClassVar[type[rpc.OperatorStub] | type[rpc.PartyLinkStub]]
    """Of the service that this member may call."""

    def _channel(self) -> grpc.Channel:
        """To the curator of the newest manifest here; the first one is asked for.

        Raises:
            PrivityError: there is none, and none that the organiser signed is to be had.
        """
        if not self.manifests.exists():
            self._take_manifest()
        return self._dialled(curator_certificate(self.manifests.current()), self.curator_name)

    def _dialled(self, trusted: bytes, name: str | None) -> grpc.Channel:
        return member_channel(
            grpc.secure_channel, self.address, trusted, self.certificate, self.key, self.proxy, name, self.silence,
            [("grpc.max_receive_message_length", LARGEST_REPLY)],
        )  # fmt: skip

    def newest_manifest(self) -> Manifest:
        """The newer one of the manifest here and of what whoever answers hands out, which is kept nowhere.

        Raises:
            PrivityError: nobody answers, or what comes is not the organiser's.
        """
        here = self.manifests.current() if self.manifests.exists() else None
        handed_out = self.manifests.opened(*self._handed_out())
        return handed_out if here is None or handed_out.serial > here.serial else here

    def _take_manifest(self) -> bool:
        """Keep what whoever answers hands out, if it is newer; whether it was.

        Raises:
            PrivityError: as ``newest_manifest``.
        """
        return self.manifests.offer(*self._handed_out())

    def _handed_out(self) -> tuple[bytes, str]:
        """The manifest of whoever answers, signed by whomever, and what it is called.

        Raises:
            PrivityError: nobody answers.
        """
        for tries in range(1, MOST_CALLS + 1):
            shown = certificate_shown(self.address, self.proxy)
            if isinstance(shown, Finding):
                raise self._unreached(shown)
            with self._dialled(shown, any_host_of(shown)) as channel:
                try:
                    document = self._stub(channel).GetManifest(pb.ManifestRequest(), timeout=self.silence).document
                    return document, f"the manifest of {self.address}"
                except grpc.RpcError as error:
                    # Another one may have answered since the certificate was looked at.
                    lost = isinstance(error, grpc.Call) and error.code() is grpc.StatusCode.UNAVAILABLE
                    if tries == MOST_CALLS or not lost or self.check().of_identity:
                        raise self._failed(error) from None
        raise AssertionError

    def _lost_for_now(self, error: grpc.RpcError) -> Finding | None:
        """How far a connection comes, if this error is that there was none; a renewed curator is known from then on."""
        if not isinstance(error, grpc.Call) or error.code() is not grpc.StatusCode.UNAVAILABLE:
            return None
        found = self.check()
        if found.stage is Stage.CURATOR:
            with suppress(PrivityError):
                if self._take_manifest():
                    return self.check()
        return found

    def _is_away(self, error: grpc.RpcError) -> bool:
        """Whether another try may find the curator."""
        found = self._lost_for_now(error)
        return found is not None and not found.of_identity

    def check(self, manifest: Manifest | None = None) -> Finding:
        """How far a connection comes, step by step.

        Args:
            manifest: whose curator it must be; the one here if none is given.
        """
        if manifest is None and self.manifests.exists():
            manifest = self.manifests.current()
        return check_connection(self.address, self.curator_name, manifest, self.certificate, self.key, self.proxy)

    def _persistent(self, call: Callable[[grpc.Channel], Answer]) -> Answer:
        """What a call brings that does the same if it is made twice: made anew if its connection was lost.

        Raises:
            PrivityError: no connection, or what the curator refused.
        """
        for tries in range(1, MOST_CALLS + 1):
            with self._channel() as channel:
                try:
                    return call(channel)
                except (grpc.RpcError, StalledError) as error:
                    if tries == MOST_CALLS or not self._was_lost(error):
                        raise self._failed(error) from None
        raise AssertionError

    def _was_lost(self, error: grpc.RpcError | StalledError) -> bool:
        """Whether the curator is there by now."""
        found = self._lost_for_now(error) if isinstance(error, grpc.RpcError) else None
        return found is not None and found.stage is Stage.THROUGH

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

    def fetch(self, run: str, out: Path, *, signatures: bool = True, attested: str = "") -> str:
        """Write the release of this run as the new folder ``out``, checked as by ``privity verify``, or not at all.

        A party whose statement is not there may sign later, and is named.

        Args:
            signatures: whether those that lie beside it are checked and kept; the organiser of a simulation is nobody.
            attested: digest of the release that this member signed itself; empty if it signed none.

        Returns:
            Who signed it, in a sentence.

        Raises:
            PrivityError: no connection, what the curator refused, or tampered: it sent what no release has, or another
                release than that of the run, or than this member signed.
            ProblemsFound: files that are not those of ``run.json``, do not fit their formats, or not each other;
                signatures that do not hold, or none of the curator.
        """
        out.absolute().parent.mkdir(parents=True, exist_ok=True)
        return self._persistent(partial(self._fetch, run, out.absolute(), signatures, attested))

    def _fetch(self, run: str, out: Path, signatures: bool, attested: str, channel: grpc.Channel) -> str:
        # It makes all pages of a report, which no other call needs.
        from privity.common.release.verification.release_verification import check_release

        with appearing(out) as scratch:
            scratch.mkdir()
            self._write(self._moving(self._stub(channel).Fetch(pb.RunName(run=run))), run, scratch)
            check_release(scratch)
            if (found := read_json(scratch / RUN)["run"]) != run:
                raise self._strange(run, f"the release of another run, {shorten(found)}")
            digest = release_digest(read_regular(scratch / RUN, links=False))
            if attested and digest != attested:
                raise self._strange(run, f"the release {digest}, and this member signed {attested}")
            if signatures:
                said = check_signatures(scratch, self.manifests.organiser_key, allow_missing=None).in_short()
            else:
                (scratch / ATTESTATIONS).unlink(missing_ok=True)
                said = unchecked(scratch)
            without_times(scratch)
            return said

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

    def _strange(self, run: str, what: str) -> PrivityError:
        reason = f"the curator sent {what}"
        return PrivityError(Catalogue.TAMPERED, what=f"the release of {run} from {self.address}", reason=reason)

    def _unreached(self, found: Finding) -> PrivityError:
        return PrivityError(Catalogue.CONNECTION_FAILED, address=self.address, reason=found.reason, hint=found.remedy)

    def _failed(self, error: grpc.RpcError | StalledError) -> PrivityError:
        """What went wrong: no connection, and why not, or what the curator said."""
        if isinstance(error, StalledError):
            reason = f"nothing has moved on it for {self.silence:g} s"
            return PrivityError(Catalogue.CONNECTION_FAILED, address=self.address, reason=reason, hint=ASK_AGAIN)
        if isinstance(error, grpc.Call) and error.code() is grpc.StatusCode.UNAVAILABLE:
            found = self.check()
            if found.stage is not Stage.THROUGH:
                return self._unreached(found)
            lost = "the connection was lost, and stands again by now"
            return PrivityError(Catalogue.CONNECTION_FAILED, address=self.address, reason=lost, hint=ASK_AGAIN)
        details = error.details() if isinstance(error, grpc.Call) else None
        said, remedy = from_elsewhere(details or "the call failed")
        return PrivityError(Catalogue.CURATOR_REFUSED, address=self.address, reason=said, hint=remedy or SEE_LOG)


@dataclass(frozen=True)
class PartyClient(CuratorLink):
    """A party's calls besides those of its node, which is the one that takes manifests: it checks whether they fit."""

    _stub = rpc.PartyLinkStub

    def _take_manifest(self) -> bool:
        return False


def party_client(config: PartyConfig) -> PartyClient:
    """The link of the party with these settings."""
    manifests = ManifestFile(config.manifest, config.organiser_key)
    files = (config.certificate, config.key)
    return PartyClient(config.curator, manifests, *files, config.proxy, curator_name=config.curator_name)
