"""What people touch: the command ``privity`` and the consoles. Python's names are in ``src/privity``."""
