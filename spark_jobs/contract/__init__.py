"""What both sides agree on: spec, layout, report and errors; standard library, pydantic and yaml only."""
