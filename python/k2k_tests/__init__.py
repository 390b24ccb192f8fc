"""Tests of the package k2k; they need libk2k.so (`./dev build k2k`)."""
