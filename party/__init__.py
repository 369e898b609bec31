"""A data owner's node, and single-party mode from Python."""

from party.synthesizer import (
    Aim,
    Copula,
    DPCcbn,
    DPSubn,
    Independent,
    JTree,
    Mst,
    OneWay,
    PrivBayes,
    PrivHD,
    SavedModel,
    Synthesizer,
    declare_population,
    load_model,
)

__all__ = [
    "Aim",
    "Copula",
    "DPCcbn",
    "DPSubn",
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
