"""Errors of the clients of Glue and Hive, which PyIceberg hands on as they are.

Both clients are extras of PyIceberg. A class is looked up among the modules that are loaded: where
its module is not, none of its errors was raised.
"""

import sys

# What Glue answers while it cannot do it now, beside a status of 500 and above.
_NOT_NOW = frozenset(
    {
        "ConcurrentModificationException",
        "ExpiredTokenException",
        "OperationTimeoutException",
        "ThrottlingException",
    }
)
_MISTAKE = "IllegalArgumentException"


def client_errors() -> tuple[type[Exception], ...]:
    """All of them."""
    botocore = _loaded("botocore.exceptions", "BotoCoreError", "ClientError")
    return botocore + _loaded("thrift.Thrift", "TException")


def may_pass(error: Exception) -> bool:
    """Whether a later try may go through, or the last commit may be there already."""
    if isinstance(error, _loaded("botocore.exceptions", "ClientError")):
        answer = getattr(error, "response", {})
        status = answer.get("ResponseMetadata", {}).get("HTTPStatusCode", 0)
        return status >= 500 or answer.get("Error", {}).get("Code") in _NOT_NOW
    if isinstance(error, _loaded("hive_metastore.ttypes", "MetaException")):
        return _MISTAKE not in str(error)
    # The server does not answer, or the connection broke.
    away = _loaded("botocore.exceptions", "ConnectionError", "HTTPClientError")
    return isinstance(error, away + _loaded("thrift.transport.TTransport", "TTransportException"))


def _loaded(module: str, *names: str) -> tuple[type[Exception], ...]:
    found = sys.modules.get(module)
    return tuple(getattr(found, name) for name in names) if found is not None else ()
