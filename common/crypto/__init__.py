"""Keys, certificates, encryption and masks: what hides a party's numbers and says who sent what.

Nothing here knows a run, a row or a socket. Primitives come from ``cryptography`` and GMP; only what the protocol
adds to them is ours.

Open ``paillier.py`` and ``packing.py`` for encrypted sums, ``residues.py`` for the randomness that they use up,
``masks.py`` for sums without encryption, ``sealing.py`` for messages that the curator relays, ``identity.py`` for a
member's own keys, and ``certificates.py`` for TLS.
"""
