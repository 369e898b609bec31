"""A data owner's node, and one owner on its own."""
