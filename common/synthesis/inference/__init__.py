"""From noisy marginals to one distribution: everything that is revealed enters one fit, and fitting costs no privacy.

It is a function of the tables alone: no chance, no clock, and the same result at every replay.

Open ``fit_choice.py`` for which fit a run takes, ``estimation.py``, ``table_consistency.py`` and
``pair_consistency.py`` for tables that are made to agree (light, for trees and dense tables), and
``junction_tree.py``, ``graphical_model.py`` and ``maximum_likelihood.py`` for a distribution that is fitted to all
tables at once (for tables with loops). ``pooled_estimates.py`` needs no model: it has what all tables tell of an
attribute or a pair, with its error, and ``least_squares.py`` the linear algebra.
"""
