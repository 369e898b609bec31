"""What type checkers and editors are told of ``privity``: the settings of each algorithm as typed keyword arguments.

``python -m privity.stubs`` writes ``src/privity/__init__.pyi``; a test holds it to the declared settings.
"""

from __future__ import annotations

import inspect

import privity
from privity.common.text.terminal import say
from privity.synthesizers import Synthesizer

HEAD = '''"""Made by ``python -m privity.stubs``: not to be edited."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any
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


def stubs() -> str:
    """The text of the stub file."""
    homes = {name: f"privity.{home}" for home, names in vars(privity)["_HOMES"].items() for name in names}
    imported, classes = ["from privity.common.privacy.budget import Number"], []
    for name in privity.__all__:
        found = getattr(privity, name)
        if isinstance(found, type) and issubclass(found, Synthesizer) and found is not Synthesizer:
            classes.append(METHOD.format(name=name, settings=_settings(found)))
            continue
        imported.append(f"from {homes[name]} import {name} as {name}")
    listed = "".join(f"    {name!r},\n" for name in privity.__all__).replace("'", '"')
    return "\n".join([HEAD, *sorted(imported), "", f"__all__ = [  # noqa: RUF022\n{listed}]", "".join(classes)])


def _settings(kind: type[Synthesizer]) -> str:
    own = list(inspect.signature(kind).parameters.values())[4:]
    return "".join(f"        {each.name}: {each.annotation} = ...,\n" for each in own)


if __name__ == "__main__":
    say(*stubs().splitlines())
