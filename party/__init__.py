"""A data owner's node, and single-party mode from Python."""

from party.synthesizer import (
    DPCcbn,
    DPSubn,
    Independent,
    OneWay,
    PrivBayes,
    SavedModel,
    Synthesizer,
    load_model,
)

__all__ = ["DPCcbn", "DPSubn", "Independent", "OneWay", "PrivBayes", "SavedModel", "Synthesizer", "load_model"]
