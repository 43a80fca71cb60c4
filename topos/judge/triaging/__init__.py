"""Triage: a folder of modules in worker processes, and the faults that explain them."""
