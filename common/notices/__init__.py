"""What a node tells people of its own accord, by e-mail or a webhook."""
