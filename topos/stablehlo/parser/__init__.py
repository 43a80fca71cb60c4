"""The parser: text in, the tree of a module out, and a mistake told in words at its place."""
