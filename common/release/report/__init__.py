"""The report of a release, for people: what is on the page, and in ``templates`` how it is drawn.

Everything is computed from what the release publishes, so nothing here is private; and without a clock or chance, so
that the same release has the same report.
"""

TEMPLATES = __name__
