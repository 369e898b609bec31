"""What parties, curator, commands and consoles share: formats, privacy, cryptography, protocol, algorithms, releases.

Nothing here knows a party's node, the curator or a command: import-linter keeps it so, and the order of the rooms.

Open ``errors.py`` for every error that a person can meet, ``exit_codes.py`` for how commands end, and
``public_names.py`` for what ``from privity import`` gives.
"""
