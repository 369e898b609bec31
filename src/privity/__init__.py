"""Differentially private synthetic tables of one owner's rows or of several owners' joint rows.

The names below are loaded when they are first used: ``import privity`` alone loads nothing else.
"""

from importlib import import_module
from typing import Any

_HOMES = {
    "common.errors": ("PrivityError", "ProblemsFound"),
    "deploy.python.synthesizers": (
        "AIM", "DPCCBN", "DPSUBN", "GaussianCopula", "Independent", "JTree", "MST", "NotFittedError", "OneWay",
        "PrivBayes", "PrivHD", "Synthesizer",
    ),
    "deploy.python.schemas": ("Schema",),
    "deploy.python.saved_models": ("SavedModel", "load_model"),
    "deploy.python.releases": ("Release",),
    "deploy.python.ledgers": ("Ledger", "declare_population"),
    "deploy.python.simulations": ("simulate",),
    "deploy.python.connections": ("connect",),
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
