"""Differentially private synthetic tables of one owner's rows or of several owners' joint rows.

What Python users import: they do what the commands do, by the same code and at the same price, and add no way around a
check.

Open ``synthesizers.py`` and ``local_learner.py`` for ``fit`` and ``sample``, ``local_release.py`` for what such a fit
publishes, ``schemas.py`` and ``discovery.py`` for schemas, ``releases.py`` for what a run published, ``ledgers.py`` for
what was spent, ``connections.py`` for runs of a consortium, ``simulations.py`` for ``simulate``, ``given.py`` for what
people hand in, and ``stubs.py`` for what type checkers are told. The folders beside them are links to the rooms below.

The names below are loaded when they are first used: ``import privity`` alone loads nothing else.
"""

import os
from importlib import import_module
from typing import Any

# Must be said before gRPC is loaded: its core would write lines of its own form among the nodes' log lines. Why a
# connection does not come about, the party says itself.
os.environ.setdefault("GRPC_VERBOSITY", "NONE")

_HOMES = {
    "common.errors": ("PrivityError", "ProblemsFound"),
    "synthesizers": (
        "AIM", "DPCCBN", "DPSUBN", "GaussianCopula", "Independent", "JTree", "MST", "OneWay", "PrivBayes", "PrivHD",
        "Synthesizer",
    ),
    "local_learner": ("NotFittedError",),
    "schemas": ("Schema",),
    "saved_models": ("SavedModel", "load_model"),
    "releases": ("Release",),
    "ledgers": ("Ledger", "declare_population"),
    "simulations": ("simulate",),
    "connections": ("connect",),
}  # fmt: skip
"""Modules, and what each gives; all of it says that its home is ``privity`` (common/public_names.py)."""

__all__ = sorted(name for names in _HOMES.values() for name in names)


def __getattr__(name: str) -> Any:
    for home, names in _HOMES.items():
        if name in names:
            return getattr(import_module(f"privity.{home}"), name)
    raise AttributeError(f"module 'privity' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted([*globals(), *__all__])
