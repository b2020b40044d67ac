"""Kafka sources: brokers, topics, positions, records that expired."""
