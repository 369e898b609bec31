"""Tables: the schema that declares them, the reading of texts into codes, and the counting of codes.

A code depends on its own value and the schema alone, never on another row. Nothing here knows noise or a budget.

Open ``schema.py`` for what an owner declares and ``attribute.py`` for one attribute of it, ``table_reading.py`` for
how rows become codes, ``declared_values.py`` for how an owner's value becomes one of the schema's, ``table_map.py`` for
what an owner's table calls them, ``coded_table.py`` for what algorithms count, ``marginal_counter.py`` for how,
``noisy_tables.py`` for what they get back, ``written_values.py`` for how codes become values again,
``row_constraints.py`` for the rules that every synthetic row must meet and ``expression.py`` for what one of them
means, ``history.py`` for a table of persons with a table of their events and ``history_steps.py`` for the rows that
these give, and ``schema_draft.py`` for drafts, which look at rows and are for their owner's screen.
"""
