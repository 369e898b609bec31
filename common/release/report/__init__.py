"""The report of a release, for people: what is on the page, and in ``templates`` how it is drawn.

Everything is computed from what the release publishes, so nothing here is private; and without a clock or chance, so
that the same release has the same report.

Open ``report_page.py`` for the page as a whole, ``overview.py`` and ``plain_words.py`` for what it says first,
``quality.py`` and ``warnings.py`` for how far to trust it, and ``distributions.py``, ``pair_strengths.py`` and
``structure_drawing.py`` for its pictures.
"""

TEMPLATES = __name__
