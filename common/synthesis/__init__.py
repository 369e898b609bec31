"""From noisy marginals to a model: the algorithms, and what they share.

An algorithm asks a session and gets statistics: it knows neither rows nor sockets. Its settings are declared once.

Open ``algorithms`` for each algorithm, ``learning`` for steps that several of them take, ``inference`` for fits of a
distribution to noisy marginals, ``models`` for what is released, and ``algorithm_settings.py`` for how a setting is
declared.
"""
