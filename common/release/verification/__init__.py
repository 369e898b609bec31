"""All that can be checked of a release: its files, its figures, its rows, its page, and who signed it.

Nothing here needs anything but the folder and public keys.

Open ``release_verification.py`` for what follows from the files, ``rows_verification.py`` for the rows and
``signature_verification.py`` for signatures.
"""
