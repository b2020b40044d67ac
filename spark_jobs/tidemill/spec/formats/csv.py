"""CSV."""

from tidemill.spec.formats.rules import (
    FALLS_BACK,
    IN_LINES,
    MICROSECONDS,
    WITH_DATE,
    FormatRules,
    RejectForm,
)

CSV = FormatRules(
    name="csv",
    shared=(
        "charset comment dateFormat delimiter emptyValue encoding escape "
        "header ignoreLeadingWhiteSpace ignoreTrailingWhiteSpace lineSep locale nullValue quote "
        "sep timeFormat timeZone timestampFormat timestampNTZFormat"
    ),
    reading=(
        "charToEscapeQuoteEscaping columnPruning enforceSchema "
        "inputBufferSize maxCharsPerColumn maxColumns multiLine nanValue negativeInf positiveInf "
        "singleVariantColumn unescapedQuoteHandling"
    ),
    writing="codec compression escapeQuotes extension quoteAll",
    inferring="inferSchema preferDate samplingRatio",
    infers_by="inferSchema",
    not_for_reading=FALLS_BACK,
    allowed_values={**IN_LINES, "escapeQuotes": ("true",)},
    one_character=("quote", "escape"),
    # A header that does not match the schema is an error, not columns silently swapped. RFC 4180
    # and spreadsheets double a quote inside quotes; Spark's own default is a backslash before it.
    reader_defaults={"header": "true", "enforceSchema": "false", "escape": '"', **WITH_DATE},
    former_defaults={"escape": "\\"},
    # Spark's own defaults cut off the blanks around a text.
    writer_defaults={
        "header": "true",
        "ignoreLeadingWhiteSpace": "false",
        "ignoreTrailingWhiteSpace": "false",
        **MICROSECONDS,
    },
    # A text may go over lines; one that cannot be read back must not become a null.
    rereading={"multiLine": "true", "enforceSchema": "false", "mode": "FAILFAST"},
    malformed_rows=True,
    flat=True,
    encodings=True,
    by_position=True,
    rejects=RejectForm.JSON,
)
