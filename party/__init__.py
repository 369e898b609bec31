"""A data owner's node, and single-party mode from Python."""

from party.synthesizer import DPCcbn, DPSubn, OneWay, Synthesizer

__all__ = ["DPCcbn", "DPSubn", "OneWay", "Synthesizer"]
