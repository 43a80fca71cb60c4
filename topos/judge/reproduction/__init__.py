"""Reproduction: a failing module made as small as it goes, with a report and a script."""
