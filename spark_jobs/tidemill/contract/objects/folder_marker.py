"""Markers of folders: empty objects whose key ends in a slash.

Hadoop leaves one for a folder that it makes, and where it removes the last file of one. The client
of object stores knows no such key: it lists a marker without the slash, and would look for, and
delete, an object of that name.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import Any
from urllib.parse import quote

# Where the connection names none, the client of object stores takes these.
ENDPOINTS = ("AWS_ENDPOINT_URL_S3", "AWS_ENDPOINT_URL", "AWS_ENDPOINT")
REGIONS = ("AWS_REGION", "AWS_DEFAULT_REGION")


def marker_settings(
    settings: Mapping[str, Any],
    bucket: str,
    key: str,
    environ: Mapping[str, str] = os.environ,
) -> dict[str, Any]:
    """The settings of a client whose object without a name is the marker of a folder.

    The client puts a slash between where a bucket is and what an object is called: where the
    folder is given as the bucket, the rest is the marker.

    Args:
        settings: Those of the bucket's own client.
        key: The folder's, without a slash at its end.
    """
    region = settings.get("region") or _first(REGIONS, environ) or "us-east-1"
    endpoint = (
        settings.get("endpoint")
        or _first(ENDPOINTS, environ)
        or f"https://s3.{region}.amazonaws.com"
    )
    return {
        **settings,
        "region": region,
        "endpoint": f"{str(endpoint).rstrip('/')}/{bucket}/{quote(key)}",
        "virtual_hosted_style_request": "true",
        # Many at once are named in a request to the bucket itself.
        "disable_bulk_delete": "true",
    }


def _first(names: tuple[str, ...], environ: Mapping[str, str]) -> str | None:
    return next((environ[name] for name in names if environ.get(name)), None)
