"""What both sides agree on: spec, layout, report, errors. Standard library, pydantic and yaml."""
