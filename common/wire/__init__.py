"""The wire: protobuf bytes to and from the steps and replies of the protocol, within bounds.

Nothing else maps the one to the other; ``v1`` is generated from ``protos`` and never edited.

Open ``codec.py`` for steps and replies, ``candidate_pairs.py`` and ``expected_tables.py`` for their large parts,
``statements.py`` for what a curator gives back to a party, and ``generate_code.py`` to generate ``v1`` anew.
"""
