"""The options of Spark's Kafka reader that `options:` may hold, and why others may not.

See Spark's Structured Streaming + Kafka Integration Guide. What the guide names and is not here is
a field of the source, belongs into the Airflow connection, or is refused by Spark itself.
"""

from collections.abc import Iterable
from difflib import get_close_matches

from tidemill.spec.sources.base import OptionValue

PLAIN = (
    "kafkaConsumer.pollTimeoutMs",
    "fetchOffset.numRetries",
    "fetchOffset.retryIntervalMs",
    "groupIdPrefix",
)
# Spark's own words (KafkaSourceProvider).
REFUSED = {
    "endingoffsets": "ending offset not valid in streaming queries",
    "endingoffsetsbytimestamp": "ending timestamp not valid in streaming queries",
    "endingtimestamp": "ending timestamp not valid in streaming queries",
    "kafka.auto.offset.reset": "not supported: set startingOffsets to say where to start",
    "kafka.key.deserializer": "not supported: keys are deserialized as byte arrays",
    "kafka.value.deserializer": "not supported: values are deserialized as byte arrays",
    "kafka.enable.auto.commit": "not supported: the source commits no offsets",
    "kafka.interceptor.classes": "not supported: interceptors can modify the payload",
}
OF_THE_CONNECTION = ("kafka.bootstrap.servers", "kafka.security.", "kafka.sasl.", "kafka.ssl.")
ISOLATION_LEVEL = "kafka.isolation.level"


def check_options(options: dict[str, OptionValue], fields: Iterable[str]) -> None:
    """Refuse what Spark would refuse when the query starts, or pass over in silence.

    Args:
        options: As in the spec.
        fields: The source's fields that stand beside `options`.

    Raises:
        ValueError: one of them may not stand there.
    """
    by_case = {name.lower(): name for name in (*PLAIN, *fields)}
    given = {name.lower() for name in options}
    for name, value in options.items():
        low = name.lower()
        if low in REFUSED:
            msg = f"option '{name}': {REFUSED[low]}"
        elif low.startswith(OF_THE_CONNECTION):
            msg = f"option '{name}' belongs into the Airflow connection that conn_id names"
        elif low in by_case and by_case[low] not in PLAIN:
            msg = f"'{name}' is a field of its own: write it beside 'options', not under it"
        elif low == "groupidprefix" and "kafka.group.id" in given:
            msg = f"option '{name}' is ignored beside kafka.group.id; remove one of them"
        elif low == ISOLATION_LEVEL and value not in ("read_committed", "read_uncommitted"):
            msg = f"option '{name}' must be read_committed or read_uncommitted"
        elif low in by_case or low.startswith("kafka."):
            continue
        else:
            near = get_close_matches(low, by_case, n=1)
            hint = f"; did you mean '{by_case[near[0]]}'?" if near else ""
            msg = f"option '{name}' is not one of Spark's Kafka reader{hint}"
        raise ValueError(msg)
