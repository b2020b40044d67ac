"""Arrow's own file systems, over a folder on a disk or in an object store."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from tidemill.contract.objects.object_path import ObjectPath
from tidemill.contract.objects.root_connection import root_settings

if TYPE_CHECKING:
    from pyarrow.dataset import Dataset
    from pyarrow.fs import SubTreeFileSystem

# A setting as the client of object stores calls it -> as Arrow does.
NAMES = {
    "access_key_id": "access_key",
    "secret_access_key": "secret_key",
    "session_token": "session_token",
    "endpoint": "endpoint_override",
    "region": "region",
}


def s3_settings() -> dict[str, Any]:
    """The root's connection as Arrow's file system of S3 takes it."""
    return {NAMES[name]: value for name, value in root_settings().items()}


def file_system(folder: Path) -> SubTreeFileSystem:
    """Arrow's file system that has a folder as its root."""
    from pyarrow.fs import LocalFileSystem, S3FileSystem, SubTreeFileSystem

    if not isinstance(folder, ObjectPath):
        return SubTreeFileSystem(str(folder), LocalFileSystem())
    # An endpoint with a scheme is taken with it.
    files = S3FileSystem(**s3_settings())
    return SubTreeFileSystem(f"{folder.bucket}/{folder.key}", files)


def parquet_dataset(folder: Path) -> Dataset:
    """The Parquet files of a folder as a dataset of Arrow's."""
    from pyarrow.dataset import dataset

    if isinstance(folder, ObjectPath):
        return dataset("", filesystem=file_system(folder), format="parquet")
    return dataset(folder, format="parquet")
