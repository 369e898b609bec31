"""What a run publishes: synthetic rows, the model behind them, its noisy tables, and what they cost whom."""
