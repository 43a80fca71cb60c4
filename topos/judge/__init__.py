"""The judge: whether the results of a runtime are right, beside samples of the oracle."""

from topos.judge.bisection.bisect import bisect
from topos.judge.bisection.cures import Cure
from topos.judge.bisection.finding import Bisection, Finding
from topos.judge.case import Case
from topos.judge.cases import cases_of
from topos.judge.certification.certify import Certification, certify
from topos.judge.grading import Grade, ResultGrade, grade
from topos.judge.progress import Stage
from topos.judge.recording import grade_results, record, recorded
from topos.judge.reproduction.reproducer import Reproducer, reduce
from topos.judge.samples.ensemble import Ensemble, Samples
from topos.judge.samples.sampling import Freedom
from topos.judge.triaging.triage import Triage, triage
from topos.judge.verdicts import BAD, Explanation, Judgement, Verdict, judged

__all__ = [
    "BAD",
    "Bisection",
    "Case",
    "Certification",
    "Cure",
    "Ensemble",
    "Explanation",
    "Finding",
    "Freedom",
    "Grade",
    "Judgement",
    "Reproducer",
    "ResultGrade",
    "Samples",
    "Stage",
    "Triage",
    "Verdict",
    "bisect",
    "cases_of",
    "certify",
    "grade",
    "grade_results",
    "judged",
    "record",
    "recorded",
    "reduce",
    "triage",
]
