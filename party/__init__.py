"""A data owner's node, and one owner on its own.

Rows never leave it. It dials out, and does only what an operator signed, its policy allows and its ledger can pay; it
charges first, counts once, and gives the same answer for ever.

Open ``agent.py`` for the loop, ``step_answers.py`` for answers to steps, ``run_admission.py`` for which runs it takes
part in, ``policy.py`` for what its owner allows, ``approvals.py`` for what its owner said, ``charged_releases.py``
for the one door to rows and ``answers_from_rows.py`` for what is behind it, ``sum_contributions.py`` for its part in
secure sums, ``attestations.py`` for what it signs, ``ledger_rollback.py`` and ``own_statements.py`` for a node that
comes back from a backup, and ``sources`` for where rows are.
"""
