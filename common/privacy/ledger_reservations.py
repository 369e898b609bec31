"""What runs have reserved of a population's total, and whether a program that reserved for itself is still at work.

A node's run outlives the process, so its reservation stands until the node has closed the run. A program that fits a
model in its own process holds a lock on a file beside the ledger while it is at work. The operating system frees the
lock when the process ends, however it ends: then nothing more is charged for that run, and its reservation is returned
by whoever reserves next.
"""

from __future__ import annotations

import fcntl
import os
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path

from privity.common.errors import Catalogue, PrivityError
from privity.common.privacy.accountant import ZERO
from privity.common.privacy.budget import readable
from privity.common.privacy.ledger_lines import LOCK, Line, Pair
from privity.common.privacy.privacy_loss import ApproxDP


@dataclass(frozen=True)
class Reservation:
    """What a run that has not ended may be charged in all, for a person.

    Attributes:
        at: when, by the clock; it decides nothing.
        lock: the file that the program at work holds; "" of a node's.
    """

    node: str
    run: str
    most: Pair
    at: str
    lock: str = ""

    @classmethod
    def of_line(cls, line: Line) -> Reservation:
        return cls(line.node, line.run, line.stated, line.at, line.document.get(LOCK, ""))

    @property
    def key(self) -> tuple[str, str]:
        return self.node, self.run

    @property
    def in_words(self) -> str:
        """Who holds how much."""
        delta = f", delta {readable(self.most[1])}" if self.most[1] else ""
        what = "a program at work" if self.lock else "a run that has begun"
        return f"epsilon {readable(self.most[0])}{delta} reserved by {self.run}, {what}, since {self.at}"

    def rest(self, spent: ApproxDP) -> Pair:
        """What it holds back besides what its run was charged."""
        return max(ZERO, self.most[0] - spent.epsilon), max(ZERO, self.most[1] - spent.delta)

    def is_left_over(self, ledger: Path | str) -> bool:
        """Whether it is that of a program that has ended without returning it."""
        if not self.lock:
            return False
        path = Path(ledger).parent / self.lock
        try:
            file = os.open(path, os.O_RDONLY)
        except FileNotFoundError:
            return True
        except OSError:
            # Of another account, perhaps: nobody here can tell.
            return False
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            return False
        else:
            _remove(path)
            return True
        finally:
            os.close(file)


def pair(loss: ApproxDP) -> Pair:
    """Its epsilon and delta."""
    return loss.epsilon, loss.delta


@contextmanager
def lock_held(ledger: Path | str, run: str) -> Iterator[str]:
    """Hold the lock of a run of this process; gives the file's name. Its inner uses hold it with the outermost."""
    name = f".{Path(ledger).name}-{run}"
    path = Path(ledger).parent / name
    file = os.open(path, os.O_RDONLY | os.O_CREAT, 0o600)
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        os.close(file)
        yield name
        return
    try:
        yield name
    finally:
        _remove(path)
        os.close(file)


def _remove(path: Path) -> None:
    """A file that is gone says the same as one that nobody holds."""
    with suppress(OSError):
        path.unlink()


def exhausted(
    party: str, population: str, word: str, asked: Fraction, left: Fraction, limit: Fraction, held: Fraction = ZERO
) -> PrivityError:
    """That a budget does not suffice.

    Args:
        word: before the epsilon or the delta that is asked for.
        limit: the total, or what one run may cost.
        held: of the total, what other runs have reserved and not spent. Whose they are is nobody else's business.
    """
    over = f" ({readable(held)} of it reserved by runs that have begun)" if held else ""
    if left < 0:
        over += (
            f" ({readable(-left)} more than that is spent{' or reserved' if held else ''}: the total was lowered, or"
            " lines were priced anew for more rows a person)"
        )
    return PrivityError(
        Catalogue.BUDGET_EXHAUSTED,
        party=party,
        asked=f"{word}{readable(asked)}",
        left=readable(max(left, ZERO)),
        total=readable(limit) + over,
        population=population,
    )
