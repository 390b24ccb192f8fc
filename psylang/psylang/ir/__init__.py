"""The intermediate representation: types, operations, programs, and their meaning."""
