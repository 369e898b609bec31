"""What parties, curator, commands and consoles share: formats, privacy, cryptography, protocol, algorithms, releases.

Nothing here knows a party's node, the curator or a command: import-linter keeps it so.

Open ``errors.py`` for every error that a person can meet, ``exit_codes.py`` for how commands end, ``public_names.py``
for what ``from privity import`` gives, ``run_request.py`` for what an operator may ask for, ``signed_request.py`` for
how it signs that, and ``planned_run.py`` for what an algorithm would ask of rows that it does not have.
"""
