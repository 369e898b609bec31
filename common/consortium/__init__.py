"""How members come into a consortium and stay in it: invites, folders, keys renewed, certificates that expire."""
