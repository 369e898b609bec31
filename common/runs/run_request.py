"""What an operator asks for when it submits a run."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from privity.common.consortium.manifest import Manifest
from privity.common.data.schema import Schema
from privity.common.errors import Catalogue, PrivityError, Problem, ProblemsFound
from privity.common.formats import LINE, parse_json, require
from privity.common.formats.given_values import bad_option
from privity.common.privacy.budget import parse_delta, parse_epsilon
from privity.common.protocol.declared_options import (
    OF_A_CONSORTIUM,
    Option,
    Taker,
    names,
    one_number_of,
    options_of,
    term,
    terms_of,
    whole,
)
from privity.common.protocol.run_spec import LARGEST_SPEC, RunSpec
from privity.common.protocol.run_terms import RunTerms
from privity.common.protocol.secure_sum_method import USUAL_KEY_BITS, Method, sum_kind
from privity.common.release.evaluation.scores_over_parties import check_evaluation
from privity.common.release.synthetic_rows import check_release_size
from privity.common.synthesis.algorithms import ALGORITHMS

REQUEST = "run request"
"""In the place of a path in what operators are told."""

FORMAT_VERSION = 1
MOST_ROWS = 100_000_000
KEY_BITS = (2048, USUAL_KEY_BITS, 4096)


@dataclass(frozen=True, kw_only=True)
class RunRequest(RunTerms):
    """What the operator asked for; see common/formats/run_request.schema.json.

    Attributes:
        parties: None stands for all that are not paused.
        rows: of the synthetic table.
        automatic: why the algorithm was chosen, and by which rules, if the operator left it open.
    """

    key_bits: int | None = term(
        Option(
            "bits of the run's Paillier modulus: 2048, 3072 or 4096; masks have none",
            one_number_of(*KEY_BITS), by_default=str(USUAL_KEY_BITS),
        )
    )  # fmt: skip
    rows: int | None = term(
        Option(
            "rows of the synthetic table", whole(1, MOST_ROWS), takers=(Taker.SUBMIT, Taker.SYNTHESIZE),
            by_default="as many as there are real ones, less those that the model takes to be absent",
        )
    )  # fmt: skip
    parties: tuple[str, ...] | None = term(
        Option(
            "names of the parties that the run is over, two or more", names(commas=True, once=False),
            by_default="all of the manifest that are not paused", takers=OF_A_CONSORTIUM,
        )
    )  # fmt: skip
    automatic: dict[str, Any] | None = None

    def over(self, parties: Sequence[str]) -> RunRequest:
        """The same over exactly these parties."""
        return replace(self, parties=tuple(parties))

    def spec(self, run: str, manifest: Manifest) -> RunSpec:
        members = manifest.members_of_run(self.parties)
        return RunSpec(run=run, members=members, manifest_digest=manifest.digest, **self.terms())

    def check(self, manifest: Manifest, schema: Schema) -> None:
        """Refuse what cannot run, before any party is asked."""
        if faults := manifest.faults_of_run(self.parties, self.tolerate):
            raise as_one_error(faults)
        rules = [
            (self.algorithm in ALGORITHMS, "algorithm", f"{self.algorithm!r} is unknown", ", ".join(ALGORITHMS)),
            ((self.key_bits is None) == (self.secure_sum.method is Method.MASKS), "key_bits",
             f"{self.key_bits} with secure sums by {self.secure_sum.method.value}",
             "2048, 3072 or 4096 with Paillier, null with masks"),
        ]  # fmt: skip
        for holds, option, reason, possible in rules:
            if not holds:
                raise PrivityError(Catalogue.BAD_OPTION, option=option, reason=reason, hint=f"Possible: {possible}.")
        if schema.digest != manifest.schema_digest:
            raise PrivityError(
                Catalogue.BAD_OPTION, option="schema",
                reason="the curator's differs from the one that the manifest of this run names",
                hint="Submit the run again. If that is refused too, the curator lacks the schema of its newest"
                " manifest: privity curator accept MANIFEST --schema FILE.",
            )  # fmt: skip
        unknown = [name for name in self.attributes or () if name not in schema.names]
        if unknown:
            reason = f"the schema has no {', '.join(map(repr, unknown))}"
            hint = f"Possible: {', '.join(schema.names)}."
            raise PrivityError(Catalogue.BAD_OPTION, option="attributes", reason=reason, hint=hint)
        over = over_attributes(schema, self.attributes)
        check_release_size(self.rows or 0, over)
        ALGORITHMS[self.algorithm].check_request(self.settings, over, self.delta)
        parties, evaluated = len(manifest.members_of_run(self.parties)), self.evaluation is not None
        ALGORITHMS[self.algorithm].check_size(self.settings, over, parties, evaluated=evaluated)
        check_evaluation(self.evaluation, self.algorithm, self.epsilon, over)


def over_attributes(schema: Schema, names: Sequence[str] | None) -> Schema:
    """The schema of the attributes that a run is about.

    Raises:
        PrivityError: bad-option: some attributes of histories, whose steps are released as a whole.
    """
    if schema.history is not None and names is not None and len(names) < len(schema.names):
        reason = f"{' and '.join(schema.history.names)} are released as a whole"
        hint = "Leave it out; or write another schema, of fewer fields."
        raise PrivityError(Catalogue.BAD_OPTION, option="attributes", reason=reason, hint=hint)
    return schema.over(names)


def as_one_error(faults: Sequence[tuple[str, str, str]]) -> PrivityError:
    """Faults of a request's options, (option, reason, remedy) each, all at once."""
    if len(faults) == 1:
        ((option, reason, remedy),) = faults
        return PrivityError(Catalogue.BAD_OPTION, option=option, reason=reason, hint=remedy)
    return ProblemsFound(Problem(REQUEST, option, "bad-option", f"{why}.", remedy) for option, why, remedy in faults)


OPTIONS = options_of(RunRequest)
"""All that may be asked for, by name."""


def request_document(given: Mapping[str, Any]) -> dict[str, Any]:
    """The request as a document (common/formats/run_request.schema.json), with every option.

    Args:
        given: options by name, as commands take them or Python; what is left out has its default.

    Raises:
        PrivityError: bad-option.
    """
    document: dict[str, Any] = {"format_version": FORMAT_VERSION}
    for name, option in OPTIONS.items():
        flag = option.flag or name.replace("_", "-")
        if given.get(name) is None:
            if option.is_required and option.default is None:
                raise bad_option(flag, "it is left out", f"Give --{flag}, or a file by --spec.")
            continue
        if (value := option.kind.given(flag, given[name])) is not None:
            _put(document, option.key or (name,), value, flag)
    if set(document.get("evaluation", {})) == {"targets"}:
        raise bad_option("evaluation-target", "no epsilon is given for it", "Give --evaluation-epsilon too.")
    return with_defaults(document)


def _put(document: dict[str, Any], key: Sequence[str], value: Any, flag: str) -> None:
    for outer in key[:-1]:
        document = document.setdefault(outer, {})
    if key[-1] in document:
        raise bad_option(flag, f"{'.'.join(key)} is given, too", "Give it once.")
    document[key[-1]] = value


def with_defaults(document: Mapping[str, Any]) -> dict[str, Any]:
    """A request with each option that it leaves out.

    Raises:
        PrivityError: bad-option: what only Paillier has, beside masks.
    """
    every = {name: option.default for name, option in OPTIONS.items() if not option.key}
    found = {**every, "evaluation": None, **document}
    if found["evaluation"] is not None:
        found["evaluation"] = {"targets": [], **found["evaluation"]}
    kind = sum_kind(found["secure_sum"], found["exponents"])
    if kind.method is Method.MASKS and found["key_bits"] is not None:
        raise bad_option("key-bits", "masks have no key", "Leave it out.")
    return found | {
        "exponents": kind.content()["exponents"],
        "key_bits": None if kind.method is Method.MASKS else found["key_bits"] or USUAL_KEY_BITS,
    }


def parse_request(data: bytes, *, bounded: bool = True) -> RunRequest:
    """A run request from its JSON; every fault at once.

    Args:
        bounded: whether its epsilon and delta must be such as an operator may ask for. A party goes by its policy.
    """
    if len(data) > LARGEST_SPEC:
        reason = f"larger than {LARGEST_SPEC} bytes, as no run's description may be"
        raise PrivityError(Catalogue.FILE_UNREADABLE, file=REQUEST, reason=reason)
    document: Any = parse_json(data, REQUEST)
    require(document, "run_request", REQUEST)
    if bounded:
        parse_epsilon(document["epsilon"])
        parse_delta(document.get("delta", "0"))
    asked = with_defaults(document)
    read = {name: how.read(name, asked) for name, how in terms_of(RunRequest).items()}
    return RunRequest(**read, automatic=asked.get("automatic"))


def request_schema() -> dict[str, Any]:
    """The JSON Schema of a run request, as its options declare it."""
    properties: dict[str, Any] = {
        "format_version": {"const": FORMAT_VERSION, "description": "version of this format"},
        "automatic": _object(
            "present if the algorithm was chosen automatically",
            rules={
                "type": "integer", "minimum": 1, "maximum": 1_000_000,
                "description": "version of the rules of the automatic choice",
            },
            reason={
                "type": "string", "minLength": 1, "maxLength": 300, "pattern": LINE,
                "description": "the reason for the choice",
            },
        ),
    }  # fmt: skip
    for name, option in OPTIONS.items():
        properties |= {} if option.key else {name: option.schema}
    scored = {option.key[1]: option.schema for option in OPTIONS.values() if option.key[:1] == ("evaluation",)}
    evaluation = {**_object("", **scored), "required": ["epsilon"]}
    del evaluation["description"]
    properties["evaluation"] = {
        "anyOf": [evaluation, {"type": "null"}],
        "description": "how the parties score the synthetic table on their rows; absent or null: not at all",
    }
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "$id": "privity:run_request:1",
        "title": "What an operator asks for",
        **_object("", **properties),
        "required": ["format_version", *(name for name, option in OPTIONS.items() if option.is_required)],
    }


def _object(description: str, **properties: Any) -> dict[str, Any]:
    form = {"type": "object", "additionalProperties": False, "required": list(properties), "properties": properties}
    return {**form, "description": description}
