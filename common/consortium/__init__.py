"""How members come into a consortium and stay in it: invites, folders, keys renewed, certificates that expire.

The organiser's signed manifest is the only root of trust. Nothing here opens a connection.

Open ``manifest.py`` for what the organiser signs and ``manifest_file.py`` for a node's copy of it, ``invitation.py``
for how a member joins, ``member_folder.py`` for what its folder holds, ``key_renewal.py`` for new keys beside those
in use, and ``run_limits.py`` for why a run is refused by an owner's limits.
"""
