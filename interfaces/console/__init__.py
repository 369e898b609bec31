"""The consoles: pages for one person at this machine, for a data owner and for an operator.

No page has an effect by being looked at, rehearses a run or counts rows. Nobody else on the machine is answered.

Open ``party_console.py`` and ``operator_console.py`` for the pages, ``owner_files.py`` for what a node has on disk,
``local_site.py`` for what all pages share, ``local_server.py`` for who may connect, ``policy_form.py`` for the policy
as a form, ``run_explanations.py`` for what is worked out beside the pages, and ``audit_log.py`` for who changed what.
What they look like is in ``templates``.
"""
