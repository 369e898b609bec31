"""What a party received and sent in a run: a hash chain of digests, which the party signs.

Two members compare their transcripts: where the curator told them different things, their digests differ. A
transcript holds names of steps and digests of what passed the curator, no vector, no row, no time. Digests of sealed
blobs and of plans tell nothing. Those of a selection's outcome, of a small model, or of a sum revealed under masks
alone can be inverted by trying: whoever gets a transcript may learn what the curator learned from these charged
releases, and which steps were refused. Epsilon covers it; it is meant for members, not for the public.

A party can sign what it likes about itself; it cannot sign for another one.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Any

from privity.common.consortium.manifest import Manifest
from privity.common.crypto.identity import Identity, sign, verify
from privity.common.errors import Catalogue, PrivityError
from privity.common.formats import read_json, require
from privity.common.protocol.combiner_tree import FAN_IN
from privity.common.protocol.steps import CombineBlock, Reply, Sealed, Step
from privity.common.storage.canonical_json import b64, canonical_bytes, digest, unb64

FORMAT_VERSION = 1
LONGEST_STEP, LONGEST_NAME = 200, 63
_SIGNED_AS = "privity transcript"


@dataclass(frozen=True)
class Entry:
    """A step that was answered, or refused.

    Attributes:
        step: its key.
        content: its digest (``step_digest``).
        reply: digest of the bytes that were sent; None for a refusal.
        code: why it was refused; None for an answer.
        blob: which sealed blob was sent, if one was.
        blobs: by sender, the blobs that a combiner was given.
    """

    step: str
    content: str
    reply: str | None = None
    code: str | None = None
    blob: str | None = None
    blobs: tuple[tuple[str, str], ...] = ()

    @classmethod
    def answered(cls, step: Step, content: str, reply: Reply, sent: bytes) -> Entry:
        """Of an answer, sent as these bytes."""
        blob = reply.blob.digest if isinstance(reply, Sealed) else None
        return cls(_name(step), content, hashlib.sha256(sent).hexdigest(), None, blob, _blobs(step))

    @classmethod
    def refused(cls, step: Step, content: str, code: str) -> Entry:
        """Of a refusal: its code only, for its words may tell what is left of a budget."""
        return cls(_name(step), content, None, code, None, _blobs(step))

    def to_dict(self) -> dict[str, Any]:
        """What there is, by name."""
        texts = {"step": self.step, "content": self.content, "reply": self.reply, "code": self.code, "blob": self.blob}
        content: dict[str, Any] = {key: value for key, value in texts.items() if value is not None}
        if self.blobs:
            content["blobs"] = [{"sender": sender, "blob": blob} for sender, blob in self.blobs]
        return content

    @classmethod
    def from_dict(cls, content: dict[str, Any]) -> Entry:
        """The inverse of ``to_dict``."""
        blobs = tuple((given["sender"], given["blob"]) for given in content.get("blobs", ()))
        reply, code, blob = (content.get(key) for key in ("reply", "code", "blob"))
        return cls(content["step"], content["content"], reply, code, blob, blobs)


def _name(step: Step) -> str:
    # A curator that means harm may name a step as it likes.
    key = step.key
    return key if len(key) <= LONGEST_STEP else f"{key[: LONGEST_STEP - 65]}#{hashlib.sha256(key.encode()).hexdigest()}"


def _blobs(step: Step) -> tuple[tuple[str, str], ...]:
    if not isinstance(step, CombineBlock) or len(step.blobs) > FAN_IN:
        return ()
    return tuple((sender[:LONGEST_NAME], blob.digest) for sender, blob in step.blobs)


@dataclass(frozen=True)
class Transcript:
    """The entries of one party in one run, in the order of its answers.

    Attributes:
        manifest_digest: under which manifest the party took part.
        end: how the run ended for the party; None if it has not.
    """

    run: str
    party: str
    manifest_digest: str
    end: str | None
    entries: tuple[Entry, ...]
    signature: bytes = b""

    @cached_property
    def links(self) -> tuple[str, ...]:
        """The chain: one digest for the beginning, and one after each entry, over the one before and the entry."""
        chain = [digest({"run": self.run, "party": self.party, "manifest_digest": self.manifest_digest})]
        for entry in self.entries:
            chain.append(digest({"previous": chain[-1], "entry": entry.to_dict()}))
        return tuple(chain)

    @property
    def _statement(self) -> dict[str, Any]:
        """What is signed."""
        return {
            "run": self.run,
            "party": self.party,
            "manifest_digest": self.manifest_digest,
            "end": self.end,
            "entries": len(self.entries),
            "head": self.links[-1],
        }

    def signed(self, identity: Identity) -> Transcript:
        """The same under this signature."""
        return replace(self, signature=sign(identity.signing, _SIGNED_AS, canonical_bytes(self._statement)))

    def to_dict(self) -> dict[str, Any]:
        """The document of a transcript's file."""
        pairs = zip(self.entries, self.links[1:], strict=True)
        return {
            "format_version": FORMAT_VERSION,
            "transcript": self._statement,
            "entries": [{**entry.to_dict(), "link": link} for entry, link in pairs],
            "signature": b64(self.signature),
        }

    def check_signature(self, manifests: Sequence[Manifest], file: str) -> None:
        """Refuse a transcript that is not signed by its party, under the key in one of these manifests.

        Raises:
            PrivityError: identity-unknown: none lists the party; tampered.
        """
        listing = [manifest for manifest in manifests if self.party in manifest.members]
        if not listing:
            raise PrivityError(
                Catalogue.IDENTITY_UNKNOWN,
                identity=self.party,
                reason="no manifest that was given lists this party",
            )
        for manifest in listing:
            try:
                verify(
                    manifest.keys_of(self.party).signing_key,
                    _SIGNED_AS,
                    canonical_bytes(self._statement),
                    self.signature,
                )
                return
            except ValueError:
                continue
        reason = f"the signature is not that of the key which the manifest lists for {self.party}"
        if all(manifest.digest != self.manifest_digest for manifest in listing):
            reason += "; the run was under another manifest: if keys were renewed since, give that one too"
        raise PrivityError(Catalogue.TAMPERED, what=file, reason=reason)


def transcript_text(transcript: Transcript) -> str:
    """The text of its file, always the same."""
    return json.dumps(transcript.to_dict(), indent=2) + "\n"


def open_transcript(document: dict[str, Any], file: str) -> Transcript:
    """Check format and chain, then read the transcript; its signature is checked apart.

    Raises:
        PrivityError: bad-input; tampered, with the first entry that does not fit.
    """
    require(document, "transcript", file)
    stated = document["transcript"]
    try:
        signature = unb64(document["signature"])
    except ValueError:
        raise PrivityError(Catalogue.TAMPERED, what=file, reason="the signature is not in base64") from None
    contents = [{key: value for key, value in entry.items() if key != "link"} for entry in document["entries"]]
    entries = tuple(Entry.from_dict(content) for content in contents)
    transcript = Transcript(
        stated["run"], stated["party"], stated["manifest_digest"], stated["end"], entries, signature
    )
    pairs = zip(document["entries"], transcript.links[1:], strict=True)
    for place, (entry, link) in enumerate(pairs, start=1):
        if entry["link"] != link:
            reason = f"entry {place} ({entry['step']}) does not follow from those before it"
            raise PrivityError(Catalogue.TAMPERED, what=file, reason=reason)
    if transcript._statement != stated:
        reason = "the chain of its entries does not lead to the head that was signed"
        raise PrivityError(Catalogue.TAMPERED, what=file, reason=reason)
    return transcript


def read_transcript(path: Path, manifests: Sequence[Manifest]) -> Transcript:
    """Read a transcript; check its chain, and its signature against these manifests."""
    transcript = open_transcript(read_json(path, links=False), str(path))
    transcript.check_signature(manifests, str(path))
    return transcript
