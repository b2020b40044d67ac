"""The rules of a file format: the options it takes, and what its files can hold.

Spark passes over an option that it does not know, and one that has no effect where it is given,
without a word. Here both are refused; a test compares these names with those of Spark's own classes
(`CSVOptions`, `JSONOptions`, `FileStreamOptions` and the like).
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from difflib import get_close_matches
from enum import Enum, auto

# Options of the file source, for each format; a timestamp in a partition's name has a zone too.
_STREAM = (
    "basePath discardCachedInputRatio maxCachedFiles pathGlobFilter recursiveFileLookup timeZone"
)
# Each makes Spark leave rows out and continue.
LOSSY = ("ignoreCorruptFiles", "ignoreInvalidPartitionPaths", "ignoreMissingFiles")
_OWN_FIELD = "it is the source's own field"
_KEEPS_MALFORMED = "the engine keeps what does not parse as rejected rows"
_NOT_IN_A_STREAM = "Spark does not allow it in a file stream"
_NOT_OF_READERS = {
    "path": _OWN_FIELD,
    "schema": _OWN_FIELD,
    "mode": _KEEPS_MALFORMED,
    "columnNameOfCorruptRecord": _KEEPS_MALFORMED,
    "maxFilesPerTrigger": _OWN_FIELD,
    "maxBytesPerTrigger": _OWN_FIELD,
    "maxFileAge": _OWN_FIELD,
    "latestFirst": _OWN_FIELD,
    "fileNameOnly": _OWN_FIELD,
    "cleanSource": _OWN_FIELD,
    "sourceArchiveDir": _OWN_FIELD,
    "modifiedBefore": _NOT_IN_A_STREAM,
    "modifiedAfter": _NOT_IN_A_STREAM,
}
_NOT_OF_WRITERS = {
    "path": "the engine knows where the files go",
    "checkpointLocation": "the engine knows where the checkpoint is",
    "retention": "it drops committed files from Spark's log, and with them their rows",
    "maxRecordsPerFile": "it is the output's own field",
}
_PACKED_AS_LINES = ("none", "uncompressed", "gzip", "bzip2", "deflate")
# Values of the writer's options with which rows in lines can be told apart again.
IN_LINES = {
    "lineSep": ("\n", "\r\n"),
    "encoding": ("utf-8",),
    "charset": ("utf-8",),
    "compression": _PACKED_AS_LINES,
    "codec": _PACKED_AS_LINES,
}
# Spark's own defaults cut microseconds off.
MICROSECONDS = {
    "timestampFormat": "yyyy-MM-dd'T'HH:mm:ss.SSSSSSXXX",
    "timestampNTZFormat": "yyyy-MM-dd'T'HH:mm:ss.SSSSSS",
}
# What Spark reads without a format, but for a time without a date: to that it gives the date of the
# day on which it reads it.
WITH_DATE = {
    "timestampFormat": "[' ']yyyy[-M[-d['T'][' '][H[:m[:s]][.SSSSSSSSS]]]][' '][XXX][XX][X][VV]"
}
# Why a reader may not fall back on Spark's own way of reading times.
FALLS_BACK = {
    "enableDateTimeParsingFallback": "with it a time without a date gets the date of the day on "
    "which it is read; give timestampFormat or dateFormat"
}


class RejectForm(Enum):
    """How the files of the sink hold why a row was rejected."""

    STRUCT = auto()
    """A column with a struct."""
    JSON = auto()
    """A column with the struct's JSON."""
    LINE = auto()
    """The struct's JSON in place of the row, which is one text."""


@dataclass(frozen=True, kw_only=True)
class FormatRules:
    """The rules of a file format: what a spec may say, and what Spark must be told.

    Args:
        name: Spark's name of the format.
        shared: Options of both Spark's reader and its writer, as names between blanks.
        reading: Options of the reader alone.
        writing: Options of the writer alone.
        writing_prefix: Options with this prefix go to the format's own library as they are.
        inferring: Options that matter only where a schema is inferred.
        infers_by: The option with which Spark infers types; None where it does so unasked.
        not_for_reading: Options that the reader has and does not obey -> why.
        required: Options that every source has to give -> what they are.
        allowed_values: Options of the writer -> the values they may have.
        one_character: Options of the writer whose value is one character.
        reader_defaults: Options that a source gets unless its spec gives them.
        former_defaults: What such an option was for a generation that is older than the default.
        writer_defaults: Options that an output gets unless its spec gives them.
        rereading: Options for Spark to read what it wrote.
        self_describing: Whether files contain their schema.
        encodings: Whether its files are text, in an encoding that the option of this name says.
        malformed_rows: Whether one row may be malformed in a file that is whole.
        by_position: Whether Spark reads columns by their places, not their names.
        text_keys: Whether the keys of its maps are texts and nothing else.
        flat: Whether its values are never arrays, maps or structs.
        for_tables: Whether tables can be made of its files; others are published as files only.
        rejects: How rejected rows are held.
        jars: The set of jars that Spark needs for it, by its name in `jars.lock`.
    """

    name: str
    shared: str = ""
    reading: str = ""
    writing: str = ""
    writing_prefix: str | None = None
    inferring: str = ""
    infers_by: str | None = None
    not_for_reading: Mapping[str, str] = field(default_factory=dict)
    required: Mapping[str, str] = field(default_factory=dict)
    allowed_values: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    one_character: tuple[str, ...] = ()
    reader_defaults: Mapping[str, str] = field(default_factory=dict)
    former_defaults: Mapping[str, str] = field(default_factory=dict)
    writer_defaults: Mapping[str, str] = field(default_factory=dict)
    rereading: Mapping[str, str] = field(default_factory=dict)
    self_describing: bool = False
    encodings: bool = False
    malformed_rows: bool = False
    by_position: bool = False
    for_tables: bool = False
    text_keys: bool = False
    flat: bool = False
    rejects: RejectForm = RejectForm.STRUCT
    jars: str | None = None

    @property
    def one_text(self) -> bool:
        """Whether a row is one text and nothing else."""
        return self.rejects is RejectForm.LINE

    @property
    def inference_options(self) -> tuple[str, ...]:
        """The options that matter only where a schema is inferred."""
        return _names(self.inferring)

    def option_missing(self, given: Iterable[str]) -> str | None:
        """The sentence on an option that a source has to give and does not; None where none is.

        Args:
            given: The names of its options, in any case.
        """
        named = {name.lower() for name in given}
        for name, what in self.required.items():
            if name.lower() not in named:
                return f"{self.name} needs the option '{name}', {what}; add it"
        return None

    def reader_option_refused(self, option: str) -> str | None:
        """The reason why a file source may not give an option of Spark's reader; None if it may.

        Args:
            option: The option's name, in any case.
        """
        known = _names(self.shared, self.reading, _STREAM, *LOSSY)
        not_here = {
            **_NOT_OF_READERS,
            **dict.fromkeys(_names(self.writing), "it is for writing; see output.options"),
            **self.not_for_reading,
            **dict.fromkeys(
                self.inference_options,
                "the schema is given and nothing is inferred; it is for the inference of a schema",
            ),
        }
        return _refused(option, known, not_here, f"option of Spark's {self.name} reader")

    def writer_option_refused(self, option: str, value: str) -> str | None:
        """The reason why an output may not give a writer option this value; None if it may.

        Rows in lines have to be such that they can be told apart again, by Spark and without it.

        Args:
            option: The option's name, in any case.
            value: The value as text.
        """
        if self.writing_prefix and option.startswith(self.writing_prefix):
            return None
        known = _names(self.shared, self.writing)
        reading = set(_names(self.reading, self.inferring, _STREAM, *LOSSY)).difference(known)
        not_here = {**dict.fromkeys(reading, "it is for reading"), **_NOT_OF_WRITERS}
        refused = _refused(option, known, not_here, f"option of Spark's {self.name} writer")
        return refused or self._value_refused(option, value)

    def _value_refused(self, option: str, value: str) -> str | None:
        if option.lower() in self.one_character and len(value) != 1:
            return f"{option} '{value}' must be one character, for the rows to be told apart again"
        by_lower = {name.lower(): values for name, values in self.allowed_values.items()}
        allowed = by_lower.get(option.lower())
        if allowed and value.lower() not in allowed:
            values = ", ".join(repr(one) for one in allowed)
            return f"with {option} '{value}' the rows cannot be told apart again; use {values}"
        return None


def with_defaults(given: Mapping[str, str], defaults: Mapping[str, str]) -> dict[str, str]:
    """Options over their defaults; names of options are the same in any case."""
    overridden = {name.lower() for name in given}
    return {**{k: v for k, v in defaults.items() if k.lower() not in overridden}, **given}


def _refused(
    option: str, known: Iterable[str], not_here: Mapping[str, str], what: str
) -> str | None:
    by_lower = {name.lower(): name for name in known}
    if option.lower() in by_lower:
        return None
    reasons = {name.lower(): reason for name, reason in not_here.items()}
    if option.lower() in reasons:
        return f"option '{option}' has no place here: {reasons[option.lower()]}"
    near = get_close_matches(option.lower(), by_lower, n=1) or [
        name for name in by_lower if option.lower().startswith(name)
    ]
    hint = f"did you mean '{by_lower[near[0]]}'?" if near else f"known: {', '.join(sorted(known))}"
    return f"'{option}' is not an {what}; {hint}"


def _names(*texts: str) -> tuple[str, ...]:
    return tuple(name for text in texts for name in text.split())
