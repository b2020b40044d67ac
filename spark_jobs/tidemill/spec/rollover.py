"""When a pipeline's query goes on in a new generation, whose logs begin empty."""

from typing import Annotated

from pydantic import Field

from tidemill.spec.model import Model

Most = Annotated[int, Field(gt=0)]


class Rollover(Model):
    """When the query goes on in a new generation, so that Spark's own logs stay short.

    Spark reads these logs whole at each start. Rows, files and state stay as they are.

    Attributes:
        after_files: After so many files in the log of the sink or of a file source; `null` for any
            number.
        after_batches: After so many batches of the generation; `null` for any number.
    """

    after_files: Most | None = 50_000
    after_batches: Most | None = 10_000
