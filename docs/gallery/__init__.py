"""Notebooks on public tables, kept with their outputs: ``python -m docs.gallery`` runs them all anew."""
