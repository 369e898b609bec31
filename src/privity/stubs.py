"""What type checkers and editors are told of ``privity``: settings of algorithms and options of runs, with their types.

``python -m privity.stubs`` writes ``src/privity/__init__.pyi``; a test holds it to the declared settings.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable

import privity
from privity import connections
from privity.common.text.terminal import say
from privity.synthesizers import Synthesizer

HEAD = '''"""Made by ``python -m privity.stubs``: not to be edited."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

__version__: str
'''

METHOD = """
class {name}(Synthesizer):
    def __init__(
        self,
        epsilon: Number,
        *,
        population: str,
        delta: Number = ...,
        ledger: Path | str | None = ...,
{settings}    ) -> None: ...
"""

CONNECTIONS = """\
class _Consortium(connections.Consortium):
    def plan{plan}
    def submit{submit}
    async def __aenter__(self) -> _AsyncConsortium: ...

class _AsyncConsortium(connections.AsyncConsortium):
    async def plan{plan}
    async def submit{submit_async}

def connect(config: Path | str = ...) -> _Consortium: ...
def simulate{simulate}
"""
"""What takes the options of a run as arguments."""
IMPORTED = (
    "from privity import connections, given",
    "from privity.common.crypto.residues import Exponents",
    "from privity.common.privacy.budget import Number",
    "from privity.common.protocol.secure_sum_method import Method",
    "from privity.connections import AsyncRun, Run",
    "from privity.progress_and_plans import Plan",
)
BY_OPTIONS = ("connect", "simulate")


def stubs() -> str:
    """The text of the stub file."""
    homes = {name: f"privity.{home}" for home, names in vars(privity)["_HOMES"].items() for name in names}
    imported, classes = list(IMPORTED), []
    for name in privity.__all__:
        if name in BY_OPTIONS:
            continue
        found = getattr(privity, name)
        if isinstance(found, type) and issubclass(found, Synthesizer) and found is not Synthesizer:
            classes.append(METHOD.format(name=name, settings=_settings(found)))
            continue
        imported.append(f"from {homes[name]} import {name} as {name}")
    listed = "".join(f"    {name!r},\n" for name in privity.__all__).replace("'", '"')
    return "\n".join(
        [HEAD, *sorted(imported), "", f"__all__ = [  # noqa: RUF022\n{listed}]", "".join(classes), _by_options()]
    )


def _settings(kind: type[Synthesizer]) -> str:
    own = list(inspect.signature(kind).parameters.values())[4:]
    return "".join(f"        {each.name}: {each.annotation} = ...,\n" for each in own)


def _by_options() -> str:
    submit = _declared(connections.Consortium.submit, indent=4)
    return CONNECTIONS.format(
        plan=_declared(connections.Consortium.plan, indent=4),
        submit=submit,
        submit_async=submit.replace("-> Run:", "-> AsyncRun:"),
        simulate=_declared(privity.simulate),
    )


def _declared(function: Callable[..., object], indent: int = 0) -> str:
    """Parameters and result, a parameter a line."""
    signature, lines = inspect.signature(function), list[str]()
    for each in signature.parameters.values():
        if each.kind is each.KEYWORD_ONLY and "*" not in lines:
            lines.append("*")
        typed = each.name if each.name == "self" else f"{each.name}: {each.annotation}"
        star = "**" if each.kind is each.VAR_KEYWORD else ""
        lines.append(f"{star}{typed}{'' if each.default is each.empty else ' = ...'}")
    inner, outer = " " * (indent + 4), " " * indent
    return "(\n" + "".join(f"{inner}{line},\n" for line in lines) + f"{outer}) -> {signature.return_annotation}: ..."


if __name__ == "__main__":
    say(*stubs().splitlines())
