"""The options of Spark's file formats: which of them a source or an output of a spec may give.

Spark passes over an option that it does not know, and one that has no effect where it stands,
without a word. Here both are refused; a test compares these names with those of Spark's own classes
(`CSVOptions`, `JSONOptions`, `FileStreamOptions` and the like).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from difflib import get_close_matches

# What both a reader and a writer take.
_SHARED = {
    "csv": (
        "charset comment dateFormat delimiter emptyValue encoding escape "
        "header ignoreLeadingWhiteSpace ignoreTrailingWhiteSpace lineSep locale nullValue quote "
        "sep timeFormat timeZone timestampFormat timestampNTZFormat"
    ),
    "json": (
        "charset dateFormat encoding lineSep locale timeFormat timeZone timestampFormat "
        "timestampNTZFormat"
    ),
    "parquet": "datetimeRebaseMode",
    "orc": "",
    "text": "lineSep",
    "avro": "avroSchema avroSchemaUrl positionalFieldMatching",
}
_READ = {
    "csv": (
        "charToEscapeQuoteEscaping columnPruning enableDateTimeParsingFallback enforceSchema "
        "inputBufferSize maxCharsPerColumn maxColumns multiLine nanValue negativeInf positiveInf "
        "singleVariantColumn unescapedQuoteHandling"
    ),
    "json": (
        "allowBackslashEscapingAnyCharacter allowComments allowNonNumericNumbers "
        "allowNumericLeadingZeros allowSingleQuotes allowUnquotedControlChars "
        "allowUnquotedFieldNames enableDateTimeParsingFallback multiLine singleVariantColumn "
        "useUnsafeRow"
    ),
    "parquet": "int96RebaseMode",
    "orc": "",
    "text": "wholetext",
    "avro": (
        "datetimeRebaseMode enableStableIdentifiersForUnionType ignoreExtension "
        "recursiveFieldMaxDepth stableIdentifierPrefixForUnionType"
    ),
}
_WRITTEN = {
    "csv": "codec compression escapeQuotes extension quoteAll",
    "json": "compression ignoreNullFields pretty sortKeys writeNonAsciiCharacterAsCodePoint",
    "parquet": "compression parquet.compression",
    "orc": "compression orc.compress",
    "text": "compression encoding",
    "avro": "compression recordName recordNamespace",
}
# Handed to the format's own library as they are.
_WRITTEN_BY_PREFIX = {"parquet": "parquet.", "orc": "orc."}
_INFERENCE = {
    "csv": "inferSchema preferDate samplingRatio",
    "json": ("dropFieldIfAllNull inferTimestamp prefersDecimal primitivesAsString samplingRatio"),
    "parquet": "mergeSchema",
    "orc": "mergeSchema",
    "text": "",
    "avro": "",
}
# Of the file source itself, whatever the format; a timestamp in a partition's name has a zone too.
_STREAM = (
    "basePath discardCachedInputRatio maxCachedFiles pathGlobFilter recursiveFileLookup timeZone"
)
# Each makes Spark leave rows out and go on.
LOSSY = ("ignoreCorruptFiles", "ignoreInvalidPartitionPaths", "ignoreMissingFiles")
_ENGINES = {
    "path": "it is the source's own field",
    "schema": "it is the source's own field",
    "mode": "the engine keeps what does not parse as rejected rows",
    "columnNameOfCorruptRecord": "the engine keeps what does not parse as rejected rows",
    "maxFilesPerTrigger": "it is the source's own field",
    "maxBytesPerTrigger": "it is the source's own field",
    "maxFileAge": "it is the source's own field",
    "latestFirst": "it is the source's own field",
    "fileNameOnly": "it is the source's own field",
    "cleanSource": "it is the source's own field",
    "sourceArchiveDir": "it is the source's own field",
    "modifiedBefore": "Spark does not allow it in a file stream",
    "modifiedAfter": "Spark does not allow it in a file stream",
}
_READ_AS_UTF8 = "Spark reads text as UTF-8, whatever it says"
_SINKS = {
    "path": "the engine knows where the files go",
    "checkpointLocation": "the engine knows where the checkpoint is",
    "retention": "it drops committed files from Spark's log, and with them their rows",
    "maxRecordsPerFile": "it is the output's own field",
}
_TEXTS = ("csv", "json", "text")
_TELLING_ROWS_APART = {
    "linesep": ("\n", "\r\n"),
    "encoding": ("utf-8",),
    "charset": ("utf-8",),
    "compression": ("none", "uncompressed", "gzip", "bzip2", "deflate"),
    "codec": ("none", "uncompressed", "gzip", "bzip2", "deflate"),
    "escapequotes": ("true",),
    "pretty": ("false",),
}


def reader_option_refused(option: str, format: str) -> str | None:
    """Why a file source may not give an option of Spark's reader; None where it may.

    Args:
        option: Its name, in any case.
        format: Such as `csv`.
    """
    known = _names(_SHARED[format], _READ[format], _STREAM, *LOSSY)
    elsewhere = {
        **_ENGINES,
        **dict.fromkeys(_names(_WRITTEN[format]), "it is for writing; see output.options"),
        **({"encoding": _READ_AS_UTF8} if format == "text" else {}),
        **dict.fromkeys(
            _names(_INFERENCE[format]),
            "the schema is given and nothing is inferred; `tidemill schema infer` takes it",
        ),
    }
    return _refused(option, known, elsewhere, f"option of Spark's {format} reader")


def writer_option_refused(option: str, value: str, format: str) -> str | None:
    """Why an output may not give an option of Spark's writer this value; None where it may.

    A text format has to be such that rows can be told apart again, by Spark and without it.
    """
    prefix = _WRITTEN_BY_PREFIX.get(format)
    if prefix and option.startswith(prefix):
        return None
    known = _names(_SHARED[format], _WRITTEN[format])
    reading = set(_names(_READ[format], _INFERENCE[format], _STREAM, *LOSSY)).difference(known)
    elsewhere = {**dict.fromkeys(reading, "it is for reading"), **_SINKS}
    refused = _refused(option, known, elsewhere, f"option of Spark's {format} writer")
    allowed = _TELLING_ROWS_APART.get(option.lower())
    if refused is not None or format not in _TEXTS:
        return refused
    if option.lower() in ("quote", "escape") and len(value) != 1:
        return f"{option} '{value}' must be one character, for the rows to be told apart again"
    if allowed and value.lower() not in allowed:
        may = ", ".join(repr(one) for one in allowed)
        return f"with {option} '{value}' nobody could tell the rows apart again; it may be {may}"
    return None


def inference_options(format: str) -> tuple[str, ...]:
    """The options that only matter where a schema is inferred."""
    return _names(_INFERENCE[format])


def _refused(
    option: str, known: Iterable[str], elsewhere: Mapping[str, str], what: str
) -> str | None:
    by_lower = {name.lower(): name for name in known}
    if option.lower() in by_lower:
        return None
    reasons = {name.lower(): reason for name, reason in elsewhere.items()}
    if option.lower() in reasons:
        return f"option '{option}' has no place here: {reasons[option.lower()]}"
    near = get_close_matches(option.lower(), by_lower, n=1) or [
        name for name in by_lower if option.lower().startswith(name)
    ]
    hint = f"did you mean '{by_lower[near[0]]}'?" if near else f"known: {', '.join(sorted(known))}"
    return f"'{option}' is no {what}; {hint}"


def _names(*texts: str) -> tuple[str, ...]:
    return tuple(name for text in texts for name in text.split())
