"""The privacy audit: neighbouring worlds through production code, and a lower bound on the loss that shows.

It contradicts a claim or it does not; it proves none. What it runs is what nodes run, with short keys.

Open ``catalogue.py`` for all that is audited, ``subject.py`` for what a subject is, ``mechanisms.py``,
``protocols.py``, ``runs_in_zcdp.py``, ``algorithm_runs.py``, ``input_paths.py`` and ``discovered_domains.py`` for the
subjects, ``loss_estimate.py`` for the bound, ``independence.py`` and ``samplers.py`` for the test of samplers, and
``audited_consortium.py`` for a consortium in one process.
"""
