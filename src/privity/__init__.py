"""Differentially private synthetic tables of one owner's rows or of several owners' joint rows.

What Python users import: they do what the commands do, by the same code and at the same price, and add no way around a
check.

Open ``synthesizers.py`` and ``local_learner.py`` for ``fit`` and ``sample``, ``local_release.py`` for what such a fit
publishes, ``schemas.py`` and ``discovery.py`` for schemas, ``releases.py`` for what a run published, ``answers.py`` for
what it tells, ``ledgers.py`` for what was spent, ``connections.py`` for runs of a consortium, ``simulations.py`` for
``simulate``, ``given.py`` for what people hand in, and ``stubs.py`` for what type checkers are told. The folders beside
them are links to the rooms below.

The names below are loaded when they are first used: ``import privity`` alone loads nothing else.
"""

import os
from importlib import import_module
from itertools import chain
from typing import Any

# Must be said before gRPC is loaded: its core would write lines of its own form among the nodes' log lines. Why a
# connection does not come about, the party says itself.
os.environ.setdefault("GRPC_VERBOSITY", "NONE")

_HOMES = {
    "common.errors": ("PrivityError", "ProblemsFound"),
    "synthesizers": ("Synthesizer",),
    "local_learner": ("NotFittedError",),
    "schemas": ("Schema",),
    "saved_models": ("SavedModel", "load_model"),
    "releases": ("Release",),
    "ledgers": ("Ledger", "declare_population"),
    "simulations": ("simulate",),
    "connections": ("connect",),
}
"""Modules, and what each gives; all of it says that its home is ``privity`` (common/public_names.py)."""


def __getattr__(name: str) -> Any:
    if name == "__version__":
        from importlib.metadata import version

        return version("privity")
    if name == "__all__":
        return sorted([*chain(*_HOMES.values()), *import_module("privity.synthesizers").CLASSES])
    for home, names in _HOMES.items():
        if name in names:
            return getattr(import_module(f"privity.{home}"), name)
    # What else begins with a capital may be the class of an algorithm, whose name stands in its own file.
    if name[:1].isupper() and (found := import_module("privity.synthesizers").CLASSES.get(name)):
        return found
    raise AttributeError(f"module 'privity' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted([*globals(), *__getattr__("__all__")])
