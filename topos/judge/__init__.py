"""The judge: whether the results of a runtime are right, beside samples of the oracle."""

from topos.judge.bisection import Bisection, Finding, bisect
from topos.judge.ensemble import Ensemble, Samples
from topos.judge.grading import Grade, ResultGrade, grade
from topos.judge.sampling import Freedom
from topos.judge.verdicts import Explanation, Judgement, Verdict, judged

__all__ = [
    "Bisection",
    "Ensemble",
    "Explanation",
    "Finding",
    "Freedom",
    "Grade",
    "Judgement",
    "ResultGrade",
    "Samples",
    "Verdict",
    "bisect",
    "grade",
    "judged",
]
