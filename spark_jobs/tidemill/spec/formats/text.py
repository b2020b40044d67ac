"""Text: one column, a row a line."""

from tidemill.spec.formats.rules import IN_LINES, FormatRules, RejectForm

TEXT = FormatRules(
    name="text",
    shared="encoding lineSep",
    reading="wholetext",
    writing="compression",
    allowed_values=IN_LINES,
    encodings=True,
    rejects=RejectForm.LINE,
)
