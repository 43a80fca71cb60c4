"""The dialects: one definition an operation."""
