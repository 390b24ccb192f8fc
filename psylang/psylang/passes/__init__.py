"""Passes: from a program to a better one that gives the same. pipeline.py says in which order."""
