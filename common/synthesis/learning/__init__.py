"""Steps of learning that several algorithms take: structures, clusters of tables, encodings, budgets split.

Each step depends on public numbers and on what was revealed, so that a run which goes on after a kill takes it again.

Open ``network_structure.py`` and ``dependency_graph.py`` for structures that are selected, ``parameter_learning.py``
for their tables, ``worst_explained.py`` for what MST and AIM select, ``optimal_merging.py`` for fewer and larger
tables, ``covering_design.py`` for views of all pairs, ``encoding.py`` for the nodes of a network, and
``domain_discovery.py`` for domains that nobody declared.
"""
