"""The object stores that files are copied from before Spark reads them."""

from pathlib import PurePosixPath
from typing import Annotated, Literal, Self
from urllib.parse import urlsplit

from pydantic import AfterValidator, model_validator

from tidemill.spec.model import Disagreement, Model, PlainName

S3 = ("s3", "s3a")
GOOGLE = ("gs",)
AZURE = ("abfs", "abfss", "az", "azure", "adl")
SCHEMES = (*S3, *GOOGLE, *AZURE)


def _of_a_store(url: str) -> str:
    parts = urlsplit(url)
    if parts.scheme not in SCHEMES or not parts.netloc:
        msg = f"'{url}' must be a bucket or a folder in it, such as s3://bucket/folder"
        raise ValueError(msg)
    if parts.query or parts.fragment or parts.password:
        msg = f"'{parts.scheme}://{parts.hostname}{parts.path}' must have nothing after its folder"
        raise ValueError(msg)
    return url.rstrip("/")


StoreUrl = Annotated[str, AfterValidator(_of_a_store)]


class Archive(Model):
    """Objects are moved to another place of the store.

    Attributes:
        archive: A bucket, or a folder in it, such as `s3://bucket/done`; an object keeps its key
            below the URL of `fetch`.
    """

    archive: StoreUrl


class Bucket(Model):
    """Files in an object store: Amazon S3 and its like, Google, Azure.

    Attributes:
        url: The bucket, or a folder in it, such as `s3://bucket/orders`; of a static input also
            one object.
        conn_id: The Airflow connection with the secrets; without one the machine's own identity
            and environment are used.
    """

    url: StoreUrl
    conn_id: PlainName | None = None


class Fetch(Bucket):
    """Files that are delivered to an object store.

    Attributes:
        clean: What becomes of an object whose rows are published (S3 only); `cleanSource` says it
            of the copy.
    """

    clean: Literal["off", "delete"] | Archive = "off"

    @property
    def archive(self) -> str | None:
        """The place that objects are moved to."""
        return self.clean.archive if isinstance(self.clean, Archive) else None

    @model_validator(mode="after")
    def _can_be_cleaned(self) -> Self:
        if self.clean != "off" and not self.url.startswith(("s3://", "s3a://")):
            msg = "only S3 deletes on the condition that an object was not replaced; remove it"
            raise Disagreement(f"{msg}, and give the bucket a lifecycle rule", "clean")
        if self.archive is not None:
            if not self.archive.startswith(("s3://", "s3a://")):
                raise Disagreement("the archive is in S3, as the objects are", "clean", "archive")
            here, there = _place(self.url), _place(self.archive)
            if here.is_relative_to(there) or there.is_relative_to(here):
                msg = f"'{self.archive}' and '{self.url}' must not be within each other"
                raise Disagreement(msg, "clean", "archive")
        return self


def _place(url: str) -> PurePosixPath:
    parts = urlsplit(url)
    return PurePosixPath(f"/{parts.netloc}{parts.path}")
