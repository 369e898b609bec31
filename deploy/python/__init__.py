"""The face for notebooks and programs: one class an algorithm, schemas, releases, simulations, a consortium.

It does what the commands do, by the same code, and adds no way around a check.

Open ``synthesizers.py`` for ``fit`` and ``sample``, ``schemas.py`` and ``discovery.py`` for schemas, ``releases.py``
for what a run published, ``ledgers.py`` for what was spent, ``connections.py`` for runs of a consortium,
``simulations.py`` for ``simulate``, ``given.py`` for what people hand in, and ``stubs.py`` for what type checkers are
told.
"""
