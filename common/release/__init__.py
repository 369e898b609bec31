"""What a run publishes: synthetic rows, the model behind them, its noisy marginals, and what they cost whom."""
