"""The people who may decide about an increment in Airflow."""

from typing import Annotated

from pydantic import StringConstraints

from tidemill.spec.model import Model

UserName = Annotated[str, StringConstraints(min_length=1, strip_whitespace=True)]


class Decisions(Model):
    """The people whose approval counts in the pipeline's resolve DAG.

    Attributes:
        approvers: Names of Airflow users; where none is named, all who may answer in Airflow.
        four_eyes: Whether whoever asks for a decision needs somebody else to approve it.
    """

    approvers: tuple[UserName, ...] = ()
    four_eyes: bool = False
