"""Constraints between attributes that every synthetic row must meet: their language, and what they say of rows.

A rule looks at one row, or at the rows of one person. Nothing is evaluated as Python.

Open ``row_constraints.py`` for the ``rowConstraints`` of a schema as a whole, ``expression_parser.py`` for the
grammar of a rule, ``expression.py`` for what it means, and ``row_texts.py`` for rows as rules look at them.
"""
