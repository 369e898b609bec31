"""One catalogue of every error that a person can meet: code, gRPC status, public text, remedy.

A message carries what its reader already knows (names of files, fields, parties, runs, declared
limits), never values, counts or scores that depend on rows (privacy: errors are outputs too).
"""

from __future__ import annotations

import copyreg
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from enum import Enum
from typing import Any

from privity.common.public_names import public
from privity.common.text.visible import LONGEST_TEXT, cut, in_line


@dataclass(frozen=True)
class ErrorKind:
    """One entry of the catalogue; ``text`` and ``remedy`` are format strings over the error's fields.

    Attributes:
        in_python: the remedy where no command is running, if it names another way there.
    """

    code: str
    status: str
    text: str
    remedy: str
    in_python: str = ""


_at_commands = False


@contextmanager
def at_commands() -> Iterator[None]:
    """Remedies name commands meanwhile, and not the calls of Python."""
    global _at_commands
    before, _at_commands = _at_commands, True
    try:
        yield
    finally:
        _at_commands = before


def by_face(command: str, call: str) -> str:
    """What a remedy names: a command if one is running, else a call of Python."""
    return command if _at_commands else call


class Catalogue(Enum):
    """Every kind of error, by name. ``status`` is the gRPC status code it travels as."""

    FILE_MISSING = ErrorKind("file-missing", "NOT_FOUND", "{file}: no such file", "Check the path, or create the file.")
    FILE_UNREADABLE = ErrorKind(
        "file-unreadable", "INVALID_ARGUMENT", "{file}: {reason}", "Correct the file and try again."
    )
    RELEASE_UNFINISHED = ErrorKind(
        "release-unfinished",
        "FAILED_PRECONDITION",
        "the release {file} has no synthetic rows and no report: {reason}",
        "Nothing that was learnt is lost, and going on costs nothing. Rows: privity sample {file} --rows N --out"
        " rows.csv. The report: privity report {file}.",
        "Nothing that was learnt is lost, and going on costs nothing. Rows: Release({file!r}).sample(N). The report:"
        " Release({file!r}).report. One owner's is finished by load_model({file!r}).release(FOLDER).",
    )
    REHEARSAL_FAILED = ErrorKind(
        "rehearsal-failed",
        "FAILED_PRECONDITION",
        "a release of invented rows by this schema cannot be made: {reason}",
        "Nothing was charged. If it says nothing of what you declared, it is a fault of Privity: report it with the"
        " schema.",
    )
    BAD_INPUT = ErrorKind("bad-input", "INVALID_ARGUMENT", "{problems}", "Correct each point and try again.")
    OUT_OF_ORDER = ErrorKind(
        "out-of-order", "FAILED_PRECONDITION", "{missing} is missing", "This comes first: {first}."
    )
    BAD_OPTION = ErrorKind("bad-option", "INVALID_ARGUMENT", "{option}: {reason}", "{hint}")
    SOURCE_UNREACHABLE = ErrorKind(
        "source-unreachable", "UNAVAILABLE", "the rows at {source} cannot be reached: {reason}", "{hint}"
    )
    SOURCE_REFUSED = ErrorKind(
        "source-refused", "FAILED_PRECONDITION", "{source} does not give its rows: {reason}", "{hint}"
    )
    SOURCE_CHANGED = ErrorKind(
        "source-changed",
        "FAILED_PRECONDITION",
        "the rows at {source} have changed since the run began",
        "A run that began with the earlier rows cannot continue. Restart the node for new runs.",
    )
    REFUSED_BY_POLICY = ErrorKind(
        "refused-by-policy",
        "PERMISSION_DENIED",
        "{party} refuses the run: {reason}",
        "Change the run, or ask the party to change its policy.",
    )
    REJECTED_BY_OWNER = ErrorKind(
        "rejected-by-owner",
        "PERMISSION_DENIED",
        "{party} refuses the run: its owner rejected it{reason}",
        "That stands for this run. Ask the owner why; another run needs another name.",
    )
    BUDGET_EXHAUSTED = ErrorKind(
        "budget-exhausted",
        "RESOURCE_EXHAUSTED",
        "{party}: asked {asked}, {left} left of {total} for population {population!r}",
        "Ask for less, or have the data owner raise the total: privity population change --help.",
        "Ask for less, or raise the total: Ledger({population!r}).change(total_epsilon=TOTAL, raise_total=True).",
    )
    POPULATION_UNDECLARED = ErrorKind(
        "population-undeclared",
        "FAILED_PRECONDITION",
        "the population {population!r} is not declared: there is no {file} (declared here: {known})",
        "Correct the name, or declare it once: privity population declare {population!r} --total-epsilon TOTAL.",
        "Correct the name, or declare it once: declare_population({population!r}, total_epsilon=TOTAL).",
    )
    LEDGER_UNUSABLE = ErrorKind(
        "ledger-unusable",
        "FAILED_PRECONDITION",
        "the ledger {file} cannot be used: {reason}",
        "Nothing is released without a ledger. Restore it or make room for it; never start an empty one instead."
        " If it is a backup that lacks lines: privity party restored --config party.toml.",
        "Nothing is released without a ledger. Restore it or make room for it; never start an empty one instead.",
    )
    POPULATION_FROZEN = ErrorKind(
        "population-frozen",
        "FAILED_PRECONDITION",
        "the ledger of {population!r} was set back: what was charged after the backup is not in it",
        "Find out what was spent, and say so: privity population adjust {population!r} --spent-epsilon EPSILON.",
        "Find out what was spent, and say so: Ledger({population!r}).adjust(spent_epsilon=EPSILON).",
    )
    NO_ROOM = ErrorKind(
        "no-room",
        "RESOURCE_EXHAUSTED",
        "no room on the disk of {file}",
        "Make room there. What was interrupted then continues by itself.",
    )
    STEP_CHANGED = ErrorKind(
        "step-changed",
        "FAILED_PRECONDITION",
        "step {step} was answered before with other content",
        "The content of a step may not change. Start a new run.",
    )
    STEP_ANSWERED = ErrorKind(
        "step-answered",
        "DATA_LOSS",
        "step {step} of {run} was answered before, and the journal no longer has that answer",
        "The journal was lost or set back to an older copy. Start a new run; nothing was sent.",
    )
    STEP_REFUSED = ErrorKind(
        "step-refused", "PERMISSION_DENIED", "step {step} refused: {reason}", "Start a new run with valid steps."
    )
    NOT_ATTESTED = ErrorKind(
        "not-attested",
        "PERMISSION_DENIED",
        "{party} does not attest the release of {run}: {reason}",
        "Compare its run.json and privacy.json with the ledger: privity party ledger. This party did not sign it.",
    )
    BLOB_REFUSED = ErrorKind(
        "blob-refused",
        "PERMISSION_DENIED",
        "the combiner refuses the round {round}: {reason}",
        "Find out who relayed or made the blob; nothing was revealed.",
    )
    ROUND_REFUSED = ErrorKind(
        "round-refused",
        "FAILED_PRECONDITION",
        "the round {round} is not revealed: {reason}",
        "Start a new run; nothing was revealed.",
    )
    IMPLAUSIBLE_SUM = ErrorKind(
        "implausible-sum",
        "ABORTED",
        "what the parties sent for {phase} is no sum of their rows and noise: {reason}",
        "A party counts other rows than it enrolled, or something altered the sum. What was charged stays charged. Look"
        " for the cause before another run: what was revealed is at the curator, beside its releases, under the name of"
        " the run and .unfit.json.",
    )
    IDENTITY_UNKNOWN = ErrorKind(
        "identity-unknown",
        "PERMISSION_DENIED",
        "{identity}: {reason}",
        "Ask the organiser whom the newest manifest lists, and with which certificate.",
    )
    CONNECTION_FAILED = ErrorKind("connection-failed", "UNAVAILABLE", "no connection to {address}: {reason}", "{hint}")
    CURATOR_REFUSED = ErrorKind("curator-refused", "FAILED_PRECONDITION", "{address}: {reason}", "{hint}")
    TWO_NODES = ErrorKind(
        "two-nodes",
        "ALREADY_EXISTS",
        "{party}: a newer node serves under the same certificate, so this one stops",
        "Each samples noise of its own: let one of them serve. If it is to be this one, stop the other, and say that"
        " this one lacks what the other was charged: privity party restored --config party.toml.",
    )
    MALFORMED = ErrorKind(
        "malformed-message",
        "INVALID_ARGUMENT",
        "{sender} sent something that is not a message of this protocol",
        "Run the same version of Privity on both sides.",
    )
    TOO_LARGE = ErrorKind(
        "message-too-large",
        "RESOURCE_EXHAUSTED",
        "{sender} sent a message of more than {limit} bytes; no expected message is that long",
        "Run the same version of Privity on both sides; a large model needs coarser bins or fewer attributes.",
    )
    OVERTAKEN = ErrorKind(
        "reply-overtaken",
        "ABORTED",
        "{sender} began another reply before this one was complete",
        "Send one reply at a time.",
    )
    INTERNAL = ErrorKind("internal", "INTERNAL", "internal error: {reason}", "See the curator's log.")
    QUEUE_FULL = ErrorKind(
        "queue-full",
        "RESOURCE_EXHAUSTED",
        "{limit} runs of the operator {submitter} are unfinished, which is the most allowed",
        "Wait until one of them has ended, or discard one: privity run list, privity run stop RUN --discard.",
    )
    TOO_MANY_CALLS = ErrorKind(
        "too-many-calls",
        "RESOURCE_EXHAUSTED",
        "the curator takes {limit} such calls a second of one member, and this was one too many",
        "Wait a few seconds and try again; call less often in a loop.",
    )
    TOO_MANY_RUNS = ErrorKind(
        "too-many-runs",
        "RESOURCE_EXHAUSTED",
        "the operator {submitter} submitted {limit} runs within a day, which is the most allowed",
        "Submit it tomorrow, or resume a run that was stopped: privity run list, privity run resume RUN.",
    )
    RUN_OF_ANOTHER = ErrorKind(
        "run-of-another",
        "PERMISSION_DENIED",
        "the operator {submitter} submitted the run {run}",
        "Ask {submitter}: nobody else may stop, discard, resume or fetch it.",
    )
    RUN_UNKNOWN = ErrorKind("run-unknown", "NOT_FOUND", "no run {run}", "{hint}")
    RUN_FAILED = ErrorKind("run-failed", "ABORTED", "run {run} ended {state}: {reason}", "{hint}")
    RUN_EXPIRED = ErrorKind(
        "run-expired",
        "DEADLINE_EXCEEDED",
        "there was no progress for {days} days; the run waited for {awaited}",
        "Submit it again. What was charged stays charged.",
    )
    NO_PROGRESS = ErrorKind(
        "no-progress",
        "DEADLINE_EXCEEDED",
        "no answer from {party} for {seconds} s in {phase}",
        "See whether that party's node runs (`privity party serve`) and can reach the curator.",
    )
    DOMAIN_TOO_LARGE = ErrorKind(
        "domain-too-large",
        "INVALID_ARGUMENT",
        "the table over {attributes} has {cells} cells, more than {limit}",
        "Declare coarser bins or fewer categories, or leave attributes out. The algorithms mst and aim leave "
        "out pairs that are too large, and one-way counts no pairs.",
    )
    RUN_TOO_LARGE = ErrorKind(
        "run-too-large",
        "INVALID_ARGUMENT",
        "{asked} looks at {found} pairs of attributes, more than {limit}: no owner could be told in time what it asks"
        " for",
        "Ask for fewer attributes, for attributes as they are instead of their bits, or for the schedule final.",
    )
    NOT_TOLD_IN_TIME = ErrorKind(
        "not-told-in-time",
        "DEADLINE_EXCEEDED",
        "what {run} asks for in detail could not be worked out within {seconds} s on this machine",
        "Do not approve what you cannot read. Look again when the machine is less busy, or ask for a smaller run.",
    )
    TOO_RARE = ErrorKind(
        "too-rare",
        "FAILED_PRECONDITION",
        "of {total} rows drawn from the model {found} meet all conditions: {asked}",
        "Ask for fewer rows or for fewer conditions, or correct the rules. Nothing was lost: the model is as it was.",
    )
    NOT_SUPPORTED = ErrorKind(
        "not-supported", "FAILED_PRECONDITION", "the release does not tell this: {reason}", "{hint}"
    )
    TAMPERED = ErrorKind(
        "tampered",
        "DATA_LOSS",
        "{what}: {reason}",
        "Do not use it; get the original from the one who made it.",
    )
    TRANSCRIPTS_DIFFER = ErrorKind(
        "transcripts-differ",
        "DATA_LOSS",
        "the transcripts of run {run} do not fit together:\n{reason}",
        "Keep the files. Either the curator told the parties different things, or one of them changed its transcript.",
    )


@public
class PrivityError(Exception):
    """An error of the catalogue, ready to be shown: ``code``, ``status``, message and remedy.

    A field is a part of one line, whatever stands in it; one that is a tuple is of several lines.

    Attributes:
        code: of the catalogue, such as ``bad-option``.
        message: what is wrong, and where.
        remedy: what to do about it.
    """

    def __init__(self, kind: Catalogue, **fields: object) -> None:
        self.kind = kind
        self.fields = fields
        self.code = kind.value.code
        self.status = kind.value.status
        shown = {name: _visible(value) for name, value in fields.items()}
        self.message = kind.value.text.format(**shown)
        self.remedy = by_face(kind.value.remedy, kind.value.in_python or kind.value.remedy).format(**shown)
        super().__init__(f"{self.message}\n{self.remedy}")

    def __reduce__(self) -> tuple[Any, ...]:
        # As it is, and not by what it was made of: an error of another process is raised here.
        return copyreg.__newobj__, (type(self), *self.args), vars(self)  # type: ignore[attr-defined]


def _visible(value: object) -> str:
    return "\n".join(in_line(str(line)) for line in (value if isinstance(value, tuple) else (value,)))


def from_elsewhere(details: str) -> tuple[tuple[str, ...], str]:
    """What another node said of a call: the lines of its message, and its remedy if any, set in under the first.

    More than a message and a remedy have is cut.
    """
    first, *others = cut(details, 2 * LONGEST_TEXT).split("\n")
    *lines, remedy = (f"  {line}" for line in others or [""])
    return (first, *lines), remedy if others else ""


@dataclass(frozen=True)
class Problem:
    """One fault of a file that a person wrote: where it is, which rule it breaks, what to do.

    Attributes:
        field: path within the document, such as ``fields[3].bins``.
        line: of that field in the file, from 1; None if the file does not have it, or has no lines.
    """

    file: str
    field: str
    rule: str
    message: str
    remedy: str
    line: int | None = None

    def __str__(self) -> str:
        file = self.file if self.line is None else f"{self.file}:{self.line}"
        place = f"{file}: {self.field}" if self.field else file
        return f"{place}: [{self.rule}] {self.message} {self.remedy}"


def other_version(file: str, found: int, expected: int) -> Problem:
    """What is said of every file of another version."""
    remedy = "Another version of Privity wrote it: install that one, or a later one."
    return Problem(file, "format_version", "format-version", f"{found} is not {expected}.", remedy)


@public
class ProblemsFound(PrivityError):  # noqa: N818 - plural, and not one error
    """All faults of a file at once.

    Attributes:
        problems: of each fault the ``file``, ``field``, ``line``, ``rule``, ``message`` and ``remedy``.
    """

    def __init__(self, problems: Iterable[Problem]) -> None:
        self.problems = tuple(problems)
        super().__init__(Catalogue.BAD_INPUT, problems=tuple(map(str, self.problems)))


class RowProblemsFound(ProblemsFound):
    """Faults of a table, with values and row numbers: for the owner's eyes only, never to be sent."""
