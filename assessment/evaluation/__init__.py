"""``privity evaluate``: a synthetic table beside the real rows, at their owner's own machine.

What it finds is not private and is never published. Nothing of a release depends on it.

Open ``evaluation.py`` for all that is found out, ``verdict.py`` for what it comes to, ``column_comparison.py``,
``pair_comparison.py``, ``linear_structure.py``, ``prediction.py``, ``propensity.py`` and ``attacks.py`` for each
measure, ``evaluation_report.py`` for the page, and ``simulated_evaluation.py`` for a release of a simulation.
"""
