"""The object store that a file source's files are copied from before Spark reads them."""

from typing import Annotated
from urllib.parse import urlsplit

from pydantic import AfterValidator

from tidemill.spec.model import Model, PlainName

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


class Fetch(Model):
    """Files that are delivered to an object store: Amazon S3 and its like, Google, Azure.

    Attributes:
        url: The bucket, or a folder in it, such as `s3://bucket/orders`.
        conn_id: The Airflow connection with the secrets; without one the machine's own identity
            and environment are used.
    """

    url: Annotated[str, AfterValidator(_of_a_store)]
    conn_id: PlainName | None = None
