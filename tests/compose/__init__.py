"""docker-compose.yaml, without a container engine: its rules as data, its services as processes."""
