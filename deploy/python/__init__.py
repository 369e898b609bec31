"""The face for notebooks and programs: one class an algorithm, schemas, releases, simulations, a consortium."""
