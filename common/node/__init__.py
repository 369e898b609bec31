"""What every node needs, a party's and the curator's: its connection, its logs and figures, a folder of its own."""
