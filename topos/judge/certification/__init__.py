"""Certification: every operation, element and class of inputs on a runtime."""
