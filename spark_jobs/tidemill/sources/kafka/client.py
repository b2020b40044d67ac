"""Kafka clients, built from an Airflow connection, and their errors."""

import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any, TypeVar

from confluent_kafka import KafkaError, KafkaException

from tidemill.contract.connections.airflow import Connection
from tidemill.contract.connections.kafka import KafkaSettingRefused, client_config
from tidemill.contract.errors import TransientError, UsageError

LOGIN_REFUSED = frozenset({KafkaError._AUTHENTICATION, KafkaError._SSL})
NOT_ALLOWED = frozenset(
    {
        KafkaError.TOPIC_AUTHORIZATION_FAILED,
        KafkaError.CLUSTER_AUTHORIZATION_FAILED,
        KafkaError.GROUP_AUTHORIZATION_FAILED,
        # Offsets of a group that has consumers.
        KafkaError.UNKNOWN_MEMBER_ID,
        KafkaError.NON_EMPTY_GROUP,
        KafkaError.SASL_AUTHENTICATION_FAILED,
    }
)
Client = TypeVar("Client")


class BrokerUnreachable(TransientError):
    """No broker of a connection answers in time; carries `servers` and librdkafka's `reason`."""


class BrokerRefuses(UsageError):
    """A broker answers, and lets this connection do nothing or not this; carries `reason`."""


def open_client(
    client: Callable[[dict[str, Any]], Client],
    connection: Connection,
    said: Callable[[KafkaError], object],
    more: Mapping[str, Any] | None = None,
) -> Client:
    """A client of confluent-kafka's.

    Args:
        client: Its class.
        connection: Where the brokers are and how to log in.
        said: Gets what the client says about its connections.
        more: Further settings.

    Raises:
        KafkaSettingRefused: librdkafka does not take the connection.
    """
    # Its own lines on standard error would repeat until a broker answers.
    quiet = {"log_level": 0, **client_config(connection)}
    try:
        return client({**quiet, **(more or {}), "error_cb": said})
    except KafkaException as error:
        # Without its cause: librdkafka says the value too.
        found = re.search(r'property:? "([^"]+)"', str(error.args[0]))
        key = found[1] if found else "extra"
        raise KafkaSettingRefused(
            f"The Kafka connection's '{key}' is refused by librdkafka.",
            remedy="Correct the environment variable AIRFLOW_CONN_… of the connection.",
            remedy_in_airflow="Correct the connection in Airflow.",
            key=key,
        ) from None


def translated(
    error: KafkaError, said: Sequence[KafkaError], servers: str
) -> BrokerUnreachable | BrokerRefuses:
    """An error of librdkafka's as one of ours.

    Args:
        error: What a call ended with; of a failed login that is only that the time was up.
        said: What the client said meanwhile.
    """
    refused = [one for one in said if one.code() in LOGIN_REFUSED]
    if refused or error.code() in NOT_ALLOWED:
        reason = (refused or [error])[0].str()
        return BrokerRefuses(
            f"The Kafka broker at {servers} refuses: {reason}.",
            remedy="Correct the connection's login or certificates, or its rights.",
            servers=servers,
            reason=reason,
        )
    reason = (*said, error)[0].str()
    return BrokerUnreachable(
        f"No Kafka broker answers at {servers}: {reason}.",
        remedy="Start it, or correct the connection; the next try carries on.",
        servers=servers,
        reason=reason,
    )
