"""Text: one column, a row a line."""

from tidemill.spec.formats.rules import IN_LINES, FormatRules, RejectForm

TEXT = FormatRules(
    name="text",
    shared="lineSep",
    reading="wholetext",
    writing="compression encoding",
    not_for_reading={"encoding": "Spark reads text as UTF-8, whatever it says"},
    allowed_values=IN_LINES,
    rejects=RejectForm.LINE,
)
