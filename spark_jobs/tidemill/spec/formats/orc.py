"""ORC."""

from tidemill.spec.formats.rules import FormatRules

ORC = FormatRules(
    name="orc",
    writing="compression orc.compress",
    writing_prefix="orc.",
    inferring="mergeSchema",
    self_describing=True,
)
