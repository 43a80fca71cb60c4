"""Samples of the oracle: a module run with the rounding noise that a sound runtime may add."""
