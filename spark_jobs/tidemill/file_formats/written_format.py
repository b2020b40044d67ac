"""The format and options with which a query wrote its files."""

from tidemill.contract.document import FrozenModel
from tidemill.spec.formats.rules import FormatRules
from tidemill.spec.formats.table import FORMATS, OutputFormat
from tidemill.spec.output import Output


class WriteFormat(FrozenModel):
    """Format and options of the file sink.

    Attributes:
        options: The options of Spark's writer, as text.
    """

    format: OutputFormat = "parquet"
    options: dict[str, str] = {}

    def option(self, name: str, default: str) -> str:
        """An option's value, whatever the case of its name."""
        given = {key.lower(): value for key, value in self.options.items()}
        return given.get(name.lower(), default)

    @property
    def rules(self) -> FormatRules:
        """The rules of the format."""
        return FORMATS[self.format]

    @property
    def rereading(self) -> dict[str, str]:
        """Options for Spark to read what it wrote."""
        return {**self.rules.rereading, **self.options}


PARQUET = WriteFormat()


def written_by(output: Output) -> WriteFormat:
    """The format and options with which a query with this output writes."""
    return WriteFormat(format=output.format, options=output.writer_options)
