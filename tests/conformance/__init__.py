"""What any task must do: inherit TaskConformance and give it `task` and `programs`."""

from __future__ import annotations

from tests.conformance.environments import EnvironmentClaims
from tests.conformance.failures import FailureClaims
from tests.conformance.sessions import SessionClaims


class TaskConformance(SessionClaims, FailureClaims, EnvironmentClaims):
    """The contract, as tests.

    A claim that a task gives no occasion to is skipped, and says why; where a task says of itself that there
    is one, such as costs by site, it is tested that there is.
    """
