"""A run as its members agree on it: steps, rounds, secure sums, and the session through which an algorithm asks.

Nothing here holds rows or a connection: a backend answers, which a party or the curator gives.

Open ``session.py`` for what an algorithm can ask and ``run_record.py`` for what was revealed to it at what cost,
``run_terms.py`` for what may be asked of a run and ``run_spec.py`` for what a run is, ``steps.py`` for what a party is
asked, ``round.py`` and ``secure_sum.py`` for one noisy sum over all, ``selection_series.py`` for selections at one
party at a time, ``plausible_sums.py`` for what a sum can be, ``stated_charges.py`` for charges as ``run.json`` states
them, and ``transcript.py`` for what a party was told.
"""
