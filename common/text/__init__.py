"""Words for people, and the way to the terminal: what somebody else wrote is shown so that nothing in it acts.

Nothing here decides anything.

Open ``visible.py`` for texts of others, ``short_values.py`` and ``first_few.py`` for long ones, ``secret_texts.py``
for what no message repeats, ``terminal.py`` for everything that a command says, ``utc_times.py`` for moments, and
``awaited_words.py`` for who is awaited.
"""
