"""A data owner's node, and single-party mode from Python."""

from party.synthesizer import (
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
