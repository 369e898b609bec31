"""The operator's side: a run is planned, asked for, signed, followed and fetched.

An operator sees public quantities and its own releases. What is fetched is verified before it is kept.

Open ``run_submission.py`` for how a run is signed and submitted, ``request_options.py`` and ``plan_options.py`` for
options, ``foreseen_refusals.py`` for who would refuse a run, ``curator_link.py`` for the connection and downloads,
``operator_client.py`` for the calls, ``run_status.py`` for how a run stands, and ``live_progress.py`` for its
progress.
"""
