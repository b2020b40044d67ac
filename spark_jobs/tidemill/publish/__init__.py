"""From a passed increment to what consumers read: targets, payloads, catching up."""
