"""What every node needs, a party's and the curator's: its connection, its logs and figures, a folder of its own.

No line of a log and no figure holds a count of rows or a value of one.

Open ``curator_trust.py`` for whom a member takes for its curator, ``tls_check.py`` for why a connection does not come
about, ``certificate_expiry.py`` for warnings before a certificate ends, ``proxy.py`` for the way through a proxy,
``logs.py`` and ``metrics_page.py`` for what a node tells of itself, and ``process.py`` for one node to a folder.
"""
