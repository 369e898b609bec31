"""What a run publishes: synthetic rows, the model behind them, its noisy marginals, and what they cost whom.

All of it is post-processing of what was revealed and paid for. Nothing here reads a row of an owner.

Open ``session_release.py`` for the one way from a session to a release, ``statement.py`` for ``privacy.json``,
``release_folder.py`` for its files, ``agreement.py`` for the figures that must agree, ``synthetic_rows.py`` for
sampling, ``synthetic_histories.py`` for persons and their events, ``sampling_conditions.py`` for what rows are asked
for, ``report`` for its page, and ``verification`` for all that is checked of it and for who signed it.
"""
