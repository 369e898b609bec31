"""The curator's node: it coordinates runs and never sees a row.

It relays what it cannot open, reveals sums with noise inside, keeps every answer before anything is made of it, and
signs the release. It decides nothing about privacy: every party does that for itself.

Open ``server.py`` for the process, ``grpc_services.py`` for its calls, ``run_queue.py`` for all runs and
``run_state_machine.py`` for their states, ``run_driver.py`` for one run from request to release, ``pending_steps.py``
for steps that wait for a party, ``answer_store.py`` for what outlives a kill, ``sum_rounds.py`` for a secure sum,
``connections.py`` and ``call_quotas.py`` for what one member may take, and ``joining.py`` for its folder.
"""
