"""How members come into a consortium and stay in it: invites, folders, the signed manifest, and keys renewed.

The organiser's signed manifest is the only root of trust. Nothing here opens a connection.

Open ``manifest.py`` for what the organiser signs and ``manifest_file.py`` for a node's copy of it, ``invitation.py``
for how a member joins, ``member_folder.py`` for what its folder holds, ``key_renewal.py`` for new keys beside those
in use, and ``schema_file.py`` for a newer schema that waits for its manifest.
"""
