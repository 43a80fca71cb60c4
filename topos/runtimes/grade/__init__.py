"""Judgement: every runtime held against the oracle's bits."""

from topos.runtimes.grade.distance import FAR, largest_distance, same_bits
from topos.runtimes.grade.envelope import ROWS, Envelope, Row, envelope, subject
from topos.runtimes.grade.grade import Grade, ResultGrade, grade, graded

__all__ = [
    "FAR",
    "ROWS",
    "Envelope",
    "Grade",
    "ResultGrade",
    "Row",
    "envelope",
    "grade",
    "graded",
    "largest_distance",
    "same_bits",
    "subject",
]
