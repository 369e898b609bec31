"""Where an owner's rows live, and how tables over them are counted there."""
