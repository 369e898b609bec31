"""Other programs for private synthetic tables, each in an environment of its own, beside this one."""
