"""The test suite, a mirror of the tree."""
