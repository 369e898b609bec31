"""The command ``privity``: one file a command, or a group of them, each loaded when it is used.

A command reads options, calls what does the work, and shows what came of it. Nothing else is decided here.

Open ``main.py`` for all commands and the one way to show an error, ``synthesize.py`` and ``simulate.py`` for one
machine, ``consortium.py``, ``party.py`` (and ``party_*.py``), ``curator.py``, ``operator.py`` and ``run.py`` for a
consortium, and ``doctor.py`` for what is amiss.
"""
