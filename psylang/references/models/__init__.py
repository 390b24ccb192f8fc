"""The reference models, one module each."""
