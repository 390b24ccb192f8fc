"""Passes: from a program to a better one with equal results. pipeline.py has their order."""
