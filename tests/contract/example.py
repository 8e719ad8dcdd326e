"""One write to tell stories about: `result(...)` is an edit of notes:plan.md, but for what a test changes."""

from hypothesis import strategies as st

from amends import ALLOWED, Evidence, Level, OperationKind, OperationResult, WriteOutcome

TARGET = "notes:plan.md"
APPLIED, FAILED, AMBIGUOUS = WriteOutcome.APPLIED, WriteOutcome.FAILED, WriteOutcome.AMBIGUOUS

PAIRS: list[tuple[WriteOutcome, Evidence | None]] = [
    *sorted(ALLOWED),
    *((outcome, None) for outcome in WriteOutcome),
]
"""Every outcome with every evidence that it may have, and without."""


def result(outcome: WriteOutcome, evidence: Evidence | None = None, /, **more: object) -> OperationResult:
    """An edit of notes:plan.md that became `outcome`."""
    fields: dict[str, object] = {"operation_id": "op_1", "kind": "edit", "target": TARGET}
    return OperationResult.model_validate(fields | {"outcome": outcome, "evidence": evidence} | more)


def _result_of(pair: tuple[WriteOutcome, Evidence | None], more: dict[str, object]) -> OperationResult:
    return result(*pair, **more)


SEEN = st.one_of(
    st.none(),
    st.just("absent"),
    st.just({"presence": "unreadable"}),
    st.fixed_dictionaries({"title": st.text(max_size=5)}),
)

RESULTS = st.builds(
    _result_of,
    st.sampled_from(PAIRS),
    st.fixed_dictionaries(
        {
            "kind": st.sampled_from(OperationKind),
            "target": st.text(min_size=1),
            "source": st.none() | st.text(min_size=1),
            "before": SEEN,
            "after": SEEN,
            "level": st.none() | st.sampled_from(Level),
            "reason": st.none() | st.text(),
            "note": st.none() | st.text(),
            "check_hint": st.none() | st.text(),
            "check_after_ms": st.none() | st.integers(min_value=0),
            "undoable": st.booleans(),
        }
    ),
)
"""Any result that a broker could report, whatever the names and reasons in it."""
