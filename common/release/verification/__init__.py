"""All that can be checked of a release: its files, its figures, its page, and who signed it."""
