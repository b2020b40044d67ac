"""From a passed increment to a version of the published table."""
