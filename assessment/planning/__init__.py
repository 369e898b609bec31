"""What a run would cost, move and take, and how far off its table would be, before anything is spent.

No real row is read: accuracy comes from rehearsals on invented tables.

Open ``run_cost.py``, ``cost_forecast.py`` and ``pair_forecast.py`` for the plan of a run, ``expected_error.py`` and
``rehearsal.py`` for its accuracy, ``invented_tables.py`` for the tables, ``secure_sum_choice.py`` for masks or
Paillier, and ``in_process_backend.py`` for K parties without encryption.
"""
