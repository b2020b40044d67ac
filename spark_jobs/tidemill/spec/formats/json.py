"""JSON: a value a line, or one a file."""

from tidemill.spec.formats.rules import FALLS_BACK, IN_LINES, MICROSECONDS, WITH_DATE, FormatRules

JSON = FormatRules(
    name="json",
    shared=(
        "charset dateFormat encoding lineSep locale timeFormat timeZone timestampFormat "
        "timestampNTZFormat"
    ),
    reading=(
        "allowBackslashEscapingAnyCharacter allowComments allowNonNumericNumbers "
        "allowNumericLeadingZeros allowSingleQuotes allowUnquotedControlChars "
        "allowUnquotedFieldNames multiLine singleVariantColumn "
        "useUnsafeRow"
    ),
    writing="compression ignoreNullFields pretty sortKeys writeNonAsciiCharacterAsCodePoint",
    inferring="dropFieldIfAllNull inferTimestamp prefersDecimal primitivesAsString samplingRatio",
    not_for_reading=FALLS_BACK,
    allowed_values={**IN_LINES, "pretty": ("false",)},
    reader_defaults=WITH_DATE,
    writer_defaults=MICROSECONDS,
    # What cannot be read back must not become a null.
    rereading={"mode": "FAILFAST"},
    malformed_rows=True,
    text_keys=True,
    encodings=True,
)
