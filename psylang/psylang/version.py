"""The version, read by the packaging and by the key of the cache."""

__version__ = "0.1.0"
