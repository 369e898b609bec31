"""Where an owner's rows live, and how tables over them are counted there.

Every source gives the same counts for the same rows. What is looked at before is for the owner's screen alone.

Open ``rows.py`` for rows as the handlers of steps see them, ``open_rows.py`` for how a source is chosen, ``store.py``
for what a store must be able to do, ``duckdb_store.py``, ``postgresql_store.py``, ``spark_store.py`` and
``ibis_store.py`` for the stores, ``csv_files.py`` for CSV, ``sql_coding.py`` for codes as SQL, ``sql_bounds.py`` for
bounds as SQL, ``person_slots.py`` and ``absent_rows.py`` for the rows of a person, ``map_draft.py`` for drafts of an
owner's map, and ``inspection.py`` for a look before they are used.
"""
