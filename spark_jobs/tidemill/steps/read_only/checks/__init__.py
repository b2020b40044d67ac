"""What `tidemill check` finds in specs, transforms, suites and DAGs, and notes about specs."""
