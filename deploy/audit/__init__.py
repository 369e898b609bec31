"""The privacy audit: neighbouring worlds through production code, and a lower bound on the loss that shows."""
