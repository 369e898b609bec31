"""The nodes of a simulation as forks: for tests that are not about how nodes start.

tests/interfaces/cli/test_simulate.py has a simulation whose nodes start as a user's do, to its end.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from functools import partialmethod
from pathlib import Path
from unittest import mock

from privity.assessment.simulation.child_processes import ProcessGroup
from privity.interfaces.cli.main import main
from tests.harness.zygote import Forked, zygote


@contextmanager
def forked_nodes(entry: str = f"{main.__module__}:main") -> Iterator[None]:
    """Meanwhile ``simulate`` of this process forks its nodes.

    Args:
        entry: what each of them runs, as ``module:function``.
    """
    with mock.patch.object(ProcessGroup, "start", partialmethod(_start, entry)):
        yield


def _start(group: ProcessGroup, entry: str, name: str, arguments: Sequence[str]) -> Forked:
    """Not with ``--stop-with-stdin``: what the zygote forks ends with it, and it ends with this process."""
    with (group._logs / f"{name}.log").open("wb") as log:
        node = zygote().start(
            entry,
            argv=["privity", *arguments],
            cwd=Path.cwd(),
            env=group._environment,
            output=log,
        )
    group._children[name] = node  # type: ignore[assignment]
    return node
