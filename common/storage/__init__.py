"""Files and the journal: what is kept so that a kill or a hostile file costs nothing.

Nothing here knows what its content means.

Open ``journal.py`` for the log that answers a step once, ``safe_files.py`` for files that are written whole and read
within bounds, ``exact_json.py`` for JSON of others, and ``canonical_json.py`` for the bytes that are signed.
"""
