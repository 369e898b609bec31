"""What a run would cost, move and take, before anything is spent."""
