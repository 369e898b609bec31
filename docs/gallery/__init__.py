"""Notebooks on public tables, kept with their outputs: ``python -m docs.gallery`` runs them all again."""

from pathlib import Path

NOTEBOOKS = sorted(Path(__file__).parent.glob("*.ipynb"))
