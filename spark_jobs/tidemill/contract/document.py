"""The base of every document on disk: frozen data that says which format it is written in."""

import json
from typing import Annotated, Any, Self

from pydantic import AfterValidator, BaseModel, ConfigDict, ValidationError
from pydantic_core import PydanticCustomError

# A minor version may add fields, which older minor versions keep. Whatever else changes needs a
# major version, which reads a renamed field under both names: `AliasChoices(new, old)`.
MAJOR, MINOR = 1, 1
FORMAT_VERSION = f"{MAJOR}.{MINOR}"
# Documents without a version come from before there was one.
FIRST_VERSION = "1.0"
# The type of the validation error for a document of a newer major version.
NEWER_FORMAT = "newer_format"


class FrozenModel(BaseModel):
    """Data that never changes; a field that it does not know is an error."""

    model_config = ConfigDict(frozen=True, extra="forbid")


def _readable(version: str) -> str:
    if version == FORMAT_VERSION:
        return version
    major, minor = map(int, version.split("."))
    if major > MAJOR:
        raise PydanticCustomError(NEWER_FORMAT, "format {version}", {"version": version})
    # What is read is written in today's format, and equals what was written in it.
    return version if (major, minor) > (MAJOR, MINOR) else FORMAT_VERSION


class Document(FrozenModel):
    """What a file of ours holds.

    A document of a newer minor version keeps the fields that this version does not know: they are
    written again with it.

    Attributes:
        format_version: `major.minor`; today's version also for documents of an older one.
    """

    format_version: Annotated[str, AfterValidator(_readable)] = FORMAT_VERSION

    @classmethod
    def parse(cls, content: bytes | str) -> Self:
        """Read the content of a file.

        Raises:
            ValidationError: it is damaged, or of a newer major version (type `NEWER_FORMAT`).
        """
        try:
            return cls.model_validate_json(content)
        except ValidationError:
            newer = cls.model_validate_json(content, extra="allow")
            if newer.format_version == FORMAT_VERSION:
                raise
            return newer

    def content(self) -> str:
        """The content of the file that holds this document."""
        fields = self.model_dump(mode="json")
        if self.format_version != FORMAT_VERSION:
            fields = _with_unknown(self, fields)
        return json.dumps(fields, indent=1) + "\n"


def _with_unknown(value: Any, written: Any) -> Any:
    """Add the fields that this version does not know, which pydantic leaves out."""
    if isinstance(value, BaseModel):
        known = {k: _with_unknown(getattr(value, k, None), v) for k, v in written.items()}
        return {**known, **(value.model_extra or {})}
    if isinstance(value, dict):
        return {k: _with_unknown(item, written[k]) for k, item in value.items()}
    if isinstance(value, list | tuple):
        return [_with_unknown(*pair) for pair in zip(value, written, strict=True)]
    return written
