"""The judge: whether the results of a runtime are right, beside samples of the oracle."""

from topos.judge.ensemble import Ensemble, Freedom, Samples
from topos.judge.grading import Grade, ResultGrade, grade
from topos.judge.verdicts import Explanation, Judgement, Verdict, judged

__all__ = [
    "Ensemble",
    "Explanation",
    "Freedom",
    "Grade",
    "Judgement",
    "ResultGrade",
    "Samples",
    "Verdict",
    "grade",
    "judged",
]
