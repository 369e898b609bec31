"""What founds a consortium, runs it for its operator, and puts its nodes on machines."""
