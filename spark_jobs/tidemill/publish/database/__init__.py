"""The database targets: an event's rows and its head row in one transaction."""
