"""Which errors of Glue's client may pass."""

from __future__ import annotations

import pytest
from botocore.exceptions import ClientError, NoCredentialsError, ReadTimeoutError

from tidemill.publish.iceberg.client_errors import client_errors, may_pass


def answered(code: str, status: int = 400) -> ClientError:
    answer = {"Error": {"Code": code}, "ResponseMetadata": {"HTTPStatusCode": status}}
    return ClientError(answer, "UpdateTable")


@pytest.mark.parametrize(
    ("error", "passes"),
    [
        (answered("ThrottlingException"), True),
        (answered("InternalServiceException", 500), True),
        (answered("AccessDeniedException"), False),
        (ReadTimeoutError(endpoint_url="https://glue"), True),
        (NoCredentialsError(), False),
    ],
    ids=repr,
)
def test_an_error_of_glue_passes_or_is_refused(error: Exception, passes: bool) -> None:
    assert isinstance(error, client_errors())
    assert may_pass(error) is passes
