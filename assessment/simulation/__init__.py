"""``privity simulate``: a curator and K parties as processes on one machine, over real TLS and gRPC.

It protects nobody: one machine holds all rows and keys, and the release says so.

Open ``simulated_run.py`` for the run, ``table_splitting.py`` for how rows are given to parties, and
``child_processes.py`` for the processes.
"""
