"""The StableHLO interpreter: grammar, syntax tree, and execution by the oracle's kernels."""
