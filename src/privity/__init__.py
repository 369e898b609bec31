"""Differentially private synthetic tables of one owner's rows or of several owners' joint rows.

The names below are loaded when they are first used: ``import privity`` alone loads nothing else.
"""

from importlib import import_module
from typing import Any

_HOMES = {
    "synthesizers": (
        "AIM", "DPCCBN", "DPSUBN", "GaussianCopula", "Independent", "JTree", "MST", "NotFittedError", "OneWay",
        "PrivBayes", "PrivHD", "Synthesizer",
    ),
    "schemas": ("Schema",),
    "saved_models": ("SavedModel", "load_model"),
    "releases": ("Release",),
    "ledgers": ("Ledger", "declare_population"),
    "simulations": ("simulate",),
    "connections": ("connect",),
}  # fmt: skip
"""The modules of privity.deploy.python, and what each gives."""

__all__ = sorted(name for names in _HOMES.values() for name in names)


def __getattr__(name: str) -> Any:
    for home, names in _HOMES.items():
        if name in names:
            return getattr(import_module(f"privity.deploy.python.{home}"), name)
    raise AttributeError(f"module 'privity' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted([*globals(), *__all__])
