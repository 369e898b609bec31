"""A data owner's node, and single-party mode from Python."""

from party.synthesizer import DPSubn, OneWay, Synthesizer

__all__ = ["DPSubn", "OneWay", "Synthesizer"]
