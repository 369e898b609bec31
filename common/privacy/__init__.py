"""What a release costs: mechanisms, their exact samplers, the sums of losses, and the ledger.

No float decides anything here. A mechanism is the only thing that adds noise, and knows its own price.

Open ``mechanisms.py`` for all of them, ``privacy_loss.py`` for kinds of loss, ``run_budget.py`` for what an algorithm
pays with, ``accountant.py`` and ``privacy_filter.py`` for what a run has cost, ``ledger.py`` for what was ever spent
on a population (its file, lines, sums and reservations beside it), ``discovery.py`` for values derived from rows at a
cost, ``discrete_laplace.py`` and ``discrete_gaussian.py`` for noise, and ``structure_scores.py`` for scores of
selections.
"""
