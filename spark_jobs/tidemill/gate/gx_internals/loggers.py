"""The names of Great Expectations' loggers; this module does not import it."""

ALL = "great_expectations"
# The actions that Great Expectations ships log here that a server refused.
ACTIONS = "great_expectations.checkpoint.actions"

ATTRIBUTES = (f"{ACTIONS}:logger",)
