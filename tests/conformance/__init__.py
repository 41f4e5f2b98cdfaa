"""The contract of any task, as tests: inherit TaskConformance and give it `tested` and `examples`."""

from __future__ import annotations

from tests.conformance.contract import ContractClaims
from tests.conformance.failures import FailureClaims


class TaskConformance(ContractClaims, FailureClaims):
    """The contract, and what burnish does if the compiler fails. A check that does not apply is skipped."""
