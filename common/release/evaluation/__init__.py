"""How good a synthetic table is: measures that parties or owners apply beside their rows.

What is found here is not private by itself. Only ``scores_over_parties.py`` ends in a release, by noisy sums.

Open ``scores_over_parties.py`` for scores of parties that pool no rows, ``marginal_distance.py`` for distances of
marginals, and ``classifier_utility.py`` for what a classifier learns from the table.
"""
