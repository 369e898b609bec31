"""Differentially private synthetic tables of one owner's rows or of several owners' joint rows.

The names below are loaded when they are first used: ``import privity`` alone loads nothing else.
"""

from importlib import import_module
from typing import Any

__all__ = [
    "Aim",
    "Copula",
    "DPCcbn",
    "DPSubn",
    "Discover",
    "Independent",
    "JTree",
    "Mst",
    "OneWay",
    "PrivBayes",
    "PrivHD",
    "SavedModel",
    "Synthesizer",
    "declare_population",
    "load_model",
]


def __getattr__(name: str) -> Any:
    if name in __all__:
        home = "saved_models" if name in ("SavedModel", "load_model") else "synthesizers"
        return getattr(import_module(f"privity.deploy.python.{home}"), name)
    raise AttributeError(f"module 'privity' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted([*globals(), *__all__])
