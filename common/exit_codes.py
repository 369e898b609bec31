"""How a command ends, for the program that called it; docs/commands.md has the same table."""

from __future__ import annotations

from enum import IntEnum

from privity.common.errors import Catalogue, PrivityError


class Exit(IntEnum):
    """Exit codes of ``privity``."""

    DONE = 0
    OTHER = 1
    USAGE = 2
    INPUT = 3
    ORDER = 4
    CONNECTION = 5
    REFUSED = 6
    FAILED = 7
    STOPPED = 8
    BUDGET = 9
    DIFFER = 10
    INTERRUPTED = 130


OF_KIND = {
    Catalogue.FILE_MISSING: Exit.INPUT,
    Catalogue.FILE_UNREADABLE: Exit.INPUT,
    Catalogue.BAD_INPUT: Exit.INPUT,
    Catalogue.BAD_OPTION: Exit.INPUT,
    Catalogue.DOMAIN_TOO_LARGE: Exit.INPUT,
    Catalogue.TOO_RARE: Exit.INPUT,
    Catalogue.NOT_SUPPORTED: Exit.INPUT,
    Catalogue.REHEARSAL_FAILED: Exit.INPUT,
    Catalogue.OUT_OF_ORDER: Exit.ORDER,
    Catalogue.CONNECTION_FAILED: Exit.CONNECTION,
    Catalogue.SOURCE_UNREACHABLE: Exit.CONNECTION,
    Catalogue.SOURCE_REFUSED: Exit.REFUSED,
    Catalogue.SOURCE_CHANGED: Exit.REFUSED,
    Catalogue.CURATOR_REFUSED: Exit.REFUSED,
    Catalogue.RUN_UNKNOWN: Exit.REFUSED,
    Catalogue.RUN_FAILED: Exit.FAILED,
    Catalogue.RELEASE_UNFINISHED: Exit.FAILED,
    Catalogue.POPULATION_UNDECLARED: Exit.BUDGET,
    Catalogue.BUDGET_EXHAUSTED: Exit.BUDGET,
    Catalogue.LEDGER_UNUSABLE: Exit.BUDGET,
    Catalogue.POPULATION_FROZEN: Exit.BUDGET,
    Catalogue.TRANSCRIPTS_DIFFER: Exit.DIFFER,
}


def exit_code(error: PrivityError) -> Exit:
    """The exit code of a command that met this error."""
    if error.kind is Catalogue.RUN_FAILED and error.fields["state"] in ("STOPPED", "DISCARDED"):
        return Exit.STOPPED
    return OF_KIND.get(error.kind, Exit.OTHER)
