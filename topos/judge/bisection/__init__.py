"""Bisection: which operation of a module a runtime computes wrongly, and what makes it right."""
