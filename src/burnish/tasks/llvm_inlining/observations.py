"""Observations: the current question, all questions, and the module that the answers lead to."""

from __future__ import annotations

from burnish import _native
from burnish.core.objective import Observation
from burnish.llvm.modules.observations import OBSERVATIONS as OF_MODULES
from burnish.llvm.representations.ir2vec import DIMENSION

FEATURES = tuple(_native.inlining_feature_names())
"""LLVM's names of the features of a call (llvm/Analysis/InlineModelFeatureMaps.h)."""
HEURISTIC = ("inline", "weighed", "cost", "threshold")
"""LLVM's heuristic: its answer; whether it compared cost and threshold; these two numbers."""
ROW = (*FEATURES, *HEURISTIC, "inlined")
"""The columns of a question's row, as in the native core."""
WOULD, WEIGHED, COST, THRESHOLD, INLINED = range(len(FEATURES), len(ROW))
ESTIMATE = FEATURES.index("cost_estimate")  # the heuristic's cost, not cut off at the threshold
LOW = float(-(2**31))  # features may be negative: a bonus is a negative cost

QUESTION = "question"
INLINING_FEATURES = "inlining-features"
HEURISTIC_ANSWER = "heuristic"
CALLEE_VECTOR = "callee-ir2vec"
CALLER_VECTOR = "caller-ir2vec"
QUESTION_VECTORS = "question-ir2vec"
QUESTIONS = "questions"
QUESTION_SITES = "question-sites"

OF_QUESTIONS: dict[str, Observation] = {
    item.name: item
    for item in (
        Observation(
            INLINING_FEATURES,
            "LLVM's features of the call in question; zeros without a question",
            shape=(len(FEATURES),),
            low=LOW,
            columns=FEATURES,
        ),
        Observation(
            HEURISTIC_ANSWER,
            "The answer of LLVM's heuristic to the question, and its inputs; zeros without a question",
            shape=(1 + len(HEURISTIC),),
            low=LOW,
            columns=("asked", *HEURISTIC),
        ),
        *(
            Observation(
                name,
                f"The {function}'s symbolic vector of IR2Vec, as its body is now; zeros without a question",
                shape=(DIMENSION,),
                dtype="float32",
                low=float("-inf"),
            )
            for name, function in ((CALLEE_VECTOR, "callee"), (CALLER_VECTOR, "caller"))
        ),
        Observation(QUESTION, "The site of the question", kind="text"),
        Observation(
            QUESTIONS,
            "All questions of the compile under these answers, in LLVM's order: features, "
            "heuristic, the decision, and whether it was an answer",
            kind="sequence",
            shape=(len(ROW) + 1,),
            low=LOW,
            columns=(*ROW, "answered"),
        ),
        Observation(
            QUESTION_VECTORS,
            "The vectors of these questions' callees, each followed by the caller's",
            kind="sequence",
            shape=(2 * DIMENSION,),
            dtype="float32",
            low=float("-inf"),
        ),
        Observation(QUESTION_SITES, "The sites of these questions, one a line", kind="text"),
    )
}
VECTORS = (CALLEE_VECTOR, CALLER_VECTOR, QUESTION_VECTORS)
"""The observations for which LLVM computes vectors at each question."""
OF_RESULT = tuple(name for name in OF_MODULES if name != "trace")
"""The observations of llvm_passes, for the module that the answers and the heuristic lead to."""

OBSERVATIONS: dict[str, Observation] = OF_QUESTIONS | {name: OF_MODULES[name] for name in OF_RESULT}
