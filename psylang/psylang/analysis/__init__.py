"""Analyses of a model: what its values may be, what matters, and what follows from it."""
