"""A data owner's node, and single-party mode from Python."""

from party.synthesizer import (
    Copula,
    DPCcbn,
    DPSubn,
    Independent,
    JTree,
    OneWay,
    PrivBayes,
    PrivHD,
    SavedModel,
    Synthesizer,
    load_model,
)

__all__ = [
    "Copula",
    "DPCcbn",
    "DPSubn",
    "Independent",
    "JTree",
    "OneWay",
    "PrivBayes",
    "PrivHD",
    "SavedModel",
    "Synthesizer",
    "load_model",
]
