"""What a run is: the spec that is asked for, each party's enrolment, and the plan that binds all.

The curator sends the spec; each party answers with its enrolment, signed under the manifest's key;
the plan holds the spec, every enrolment and the run's Paillier key. Its digest goes into every sealed
blob, so parties that were told different things cannot add up to a revealed sum.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

from privity.common.consortium.manifest import Manifest
from privity.common.crypto.identity import Identity, PublicIdentity, sign, verify
from privity.common.errors import Catalogue, PrivityError
from privity.common.protocol.declared_options import terms_of
from privity.common.protocol.run_terms import MOST_PARTIES, RunTerms
from privity.common.protocol.secure_sum_method import Method
from privity.common.storage.canonical_json import b64, canonical_bytes, digest, unb64

FORMAT_VERSION = 1
LARGEST_SPEC = 1 << 17
_ENROLLED_AS = "privity enrolment"
_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,62}")
_PROCESS = re.compile(r"[0-9a-f]{0,32}")
_BLINDED = re.compile(r"[0-9a-f]{64}")
_MODULUS = re.compile(r"[1-9a-f][0-9a-f]{0,4095}")


def check_run_name(run: str) -> None:
    """ValueError unless it is a plain name: parties file what they keep of a run below ``run/``."""
    if not _NAME.fullmatch(run):
        raise ValueError("not a run's name")


def _whole(value: object) -> bool:
    return isinstance(value, int) and not isinstance(value, bool)


@dataclass(frozen=True, kw_only=True)
class RunSpec(RunTerms):
    """A run as the operator asked for it.

    Attributes:
        run: name of the run, unique at the curator.
        members: names of the parties in their order, K >= 2.
        manifest_digest: the consortium this run belongs to.
    """

    run: str
    members: tuple[str, ...]
    manifest_digest: str

    def to_dict(self) -> dict[str, Any]:
        return {
            "format_version": FORMAT_VERSION,
            "run": self.run,
            "members": list(self.members),
            "manifest_digest": self.manifest_digest,
            **self.content(),
        }

    @classmethod
    def from_dict(cls, content: dict[str, Any]) -> RunSpec:
        """The inverse of ``to_dict``; raises ValueError, KeyError or TypeError for anything else."""
        spec = cls(
            run=content["run"],
            members=tuple(content["members"]),
            manifest_digest=content["manifest_digest"],
            **{name: how.of_plan(content[name]) for name, how in terms_of(RunTerms).items()},
        )
        check_run_name(spec.run)
        if not all(isinstance(text, str) for text in (spec.manifest_digest, *spec.members)):
            raise TypeError("no text")
        if spec.delta >= 1:
            raise ValueError("delta is not below 1")
        if spec.learning_epsilon <= 0:
            raise ValueError("nothing is left of epsilon but for the evaluation")
        if spec.attributes == ():
            raise ValueError("no attribute")
        if len(set(spec.members)) != len(spec.members) or len(spec.members) > MOST_PARTIES:
            raise ValueError("a member twice, or too many")
        if len(canonical_bytes(content)) > LARGEST_SPEC:
            raise ValueError("too large for a run spec")
        if spec.to_dict() != content:
            raise ValueError("not a run spec of this version")
        return spec

    @cached_property
    def digest(self) -> str:
        return digest(self.to_dict())


@dataclass(frozen=True)
class Enrolment:
    """A party's signed word that it takes part in this very run, with its public row count n_k.

    Attributes:
        rows_per_person: most rows that one person has at this party.
        process: the number of the node's process that signs; of two nodes from copies of one folder it shows which.
        population: whose rows they are, blinded (``Identity.blinded``): the party alone can tell.
    """

    party: str
    spec_digest: str
    rows: int
    signature: bytes
    rows_per_person: int = 1
    process: str = ""
    population: str = ""

    @property
    def _content(self) -> bytes:
        return canonical_bytes({key: value for key, value in self.to_dict().items() if key != "signature"})

    @classmethod
    def signed(
        cls,
        party: str,
        spec: RunSpec,
        rows: int,
        identity: Identity,
        rows_per_person: int = 1,
        *,
        process: str = "",
        population: str = "",
    ) -> Enrolment:
        """The enrolment of a party with rows about this population."""
        blinded = identity.blinded(spec.run, population)
        unsigned = cls(party, spec.digest, rows, b"", rows_per_person, process, blinded)
        return replace(unsigned, signature=sign(identity.signing, _ENROLLED_AS, unsigned._content))

    def check(self, spec: RunSpec, manifest: Manifest) -> None:
        """Refuse an enrolment in another run, with no rows, or not signed by the party itself."""
        fits = self.spec_digest == spec.digest and self.rows >= 1 and self.rows_per_person >= 1
        try:
            if not fits:
                raise ValueError("content")
            self.check_signature(manifest.keys_of(self.party))
        except ValueError as error:
            raise PrivityError(
                Catalogue.STEP_REFUSED, step="plan", reason=f"the enrolment of {self.party} does not hold"
            ) from error

    def check_signature(self, keys: PublicIdentity) -> None:
        """Raises ValueError unless it is signed under these keys."""
        verify(keys.signing_key, _ENROLLED_AS, self._content, self.signature)

    def to_dict(self) -> dict[str, Any]:
        return {
            "party": self.party,
            "spec_digest": self.spec_digest,
            "rows": self.rows,
            "rows_per_person": self.rows_per_person,
            "process": self.process,
            "population": self.population,
            "signature": b64(self.signature),
        }

    @classmethod
    def from_dict(cls, content: dict[str, Any]) -> Enrolment:
        """The inverse of ``to_dict``; raises ValueError, KeyError or TypeError for anything else."""
        signature, of_person = unb64(content["signature"]), content["rows_per_person"]
        process, population = content["process"], content["population"]
        enrolment = cls(
            content["party"], content["spec_digest"], content["rows"], signature, of_person, process, population
        )
        texts = isinstance(enrolment.party, str) and isinstance(enrolment.spec_digest, str)
        texts = texts and _PROCESS.fullmatch(process) is not None and _BLINDED.fullmatch(population) is not None
        numbers = _whole(enrolment.rows) and _whole(of_person)
        if not texts or not numbers or enrolment.to_dict() != content:
            raise ValueError("not an enrolment")
        return enrolment


@dataclass(frozen=True)
class RunPlan:
    """The spec, everybody's enrolment in the order of the members, and the run's Paillier modulus, if it has one."""

    spec: RunSpec
    enrolments: tuple[Enrolment, ...]
    modulus: int | None

    def check(self, manifest: Manifest) -> None:
        """What each party verifies for itself before it takes part."""
        if tuple(e.party for e in self.enrolments) != self.spec.members or len(set(self.spec.members)) != self.parties:
            raise PrivityError(
                Catalogue.STEP_REFUSED, step="plan", reason="the enrolments are not exactly the run's members"
            )
        if (self.modulus is None) != (self.spec.secure_sum.method is Method.MASKS):
            raise PrivityError(
                Catalogue.STEP_REFUSED, step="plan", reason="it must have a modulus exactly if sums are under Paillier"
            )
        for enrolment in self.enrolments:
            enrolment.check(self.spec, manifest)

    @property
    def parties(self) -> int:
        return len(self.spec.members)

    @property
    def rows(self) -> int:
        return sum(e.rows for e in self.enrolments)

    def rows_of(self, party: str) -> int:
        return next(e.rows for e in self.enrolments if e.party == party)

    def rows_elsewhere(self, party: str, parties_per_person: int) -> int:
        """Most rows that a person of this party has at the other parties together, being at so many in all."""
        others = sorted((e.rows_per_person for e in self.enrolments if e.party != party), reverse=True)
        return sum(others[: parties_per_person - 1])

    @property
    def noise_quota(self) -> int:
        """q = K - t: shares of any q parties sum to one whole discrete Laplace variable."""
        return self.parties - self.spec.tolerate

    @property
    def key_bits(self) -> int | None:
        """Length of the Paillier modulus, None if there is none."""
        return None if self.modulus is None else self.modulus.bit_length()

    @property
    def protection(self) -> str:
        """The cryptography that hides a party's vector, in words."""
        return self.spec.secure_sum.in_words(self.key_bits)

    def to_dict(self) -> dict[str, Any]:
        return {
            "format_version": FORMAT_VERSION,
            "spec": self.spec.to_dict(),
            "enrolments": [e.to_dict() for e in self.enrolments],
            "modulus": None if self.modulus is None else format(self.modulus, "x"),
        }

    @classmethod
    def from_dict(cls, content: dict[str, Any]) -> RunPlan:
        """The inverse of ``to_dict``; raises ValueError, KeyError or TypeError for anything else."""
        modulus = content["modulus"]
        if modulus is not None and not _MODULUS.fullmatch(modulus):
            raise ValueError("not a modulus in hexadecimal")
        plan = cls(
            spec=RunSpec.from_dict(content["spec"]),
            enrolments=tuple(Enrolment.from_dict(e) for e in content["enrolments"]),
            modulus=None if modulus is None else int(modulus, 16),
        )
        if plan.to_dict() != content:
            raise ValueError("not a run plan of this version")
        return plan

    @cached_property
    def digest(self) -> str:
        return digest(self.to_dict())
