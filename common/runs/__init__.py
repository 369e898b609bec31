"""A run before it begins: what an operator asks for and signs, what it costs, and whose limits refuse it.

All of it follows from public numbers: nothing here is charged, and no row is read.

Open ``run_request.py`` for what an operator may ask for, ``signed_request.py`` for how it signs that,
``run_limits.py`` for why a run is refused and ``published_limits.py`` for what owners let operators know of that,
``automatic_choice.py`` for which algorithm a run takes that names none, ``planned_run.py`` for what an algorithm would
ask of rows that it does not have, ``modelled_together.py`` for how many attributes it would model alone, and
``few_rows.py`` for domains that so few rows would not tell.
"""
