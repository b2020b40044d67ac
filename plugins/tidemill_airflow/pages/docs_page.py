"""Great Expectations' pages within Airflow, for users who may read the pipeline's DAG."""

from __future__ import annotations

from mimetypes import guess_type
from pathlib import Path

from fastapi import APIRouter, HTTPException
from fastapi.responses import FileResponse, Response

from tidemill.contract.docs_policy import WITHIN_AIRFLOW
from tidemill.contract.errors import UsageError
from tidemill.contract.layout import Layout
from tidemill.contract.objects.errors import ObjectKeyUnusable
from tidemill.contract.objects.object_path import ObjectPath
from tidemill.spec.root import root
from tidemill_airflow.pages.access import MayRead

router = APIRouter()

# Great Expectations' pages load scripts from public servers and quote the data that they judged;
# within Airflow's own origin these would act as the user. They read well without any script.
HEADERS = {
    "Cache-Control": "private, no-store",
    "Content-Security-Policy": "; ".join(WITHIN_AIRFLOW),
    "Referrer-Policy": "no-referrer",
    "X-Content-Type-Options": "nosniff",
}


@router.get("/docs/{pipeline}/{path:path}", dependencies=[MayRead])
def page(pipeline: str, path: str) -> Response:
    try:
        found = find_page(Layout(root(), pipeline).docs, path)
    except UsageError:
        found = None
    if found is None:
        raise HTTPException(404, "There is no such page.")
    if isinstance(found, ObjectPath):
        kind, _ = guess_type(found.name)
        return Response(found.read_bytes(), headers=HEADERS, media_type=kind)
    return FileResponse(found, headers=HEADERS)


def find_page(docs: Path, path: str) -> Path | None:
    """A file under the docs folder, or None: also where a link or `..` leads out of it."""
    if ".." in Path(path).parts:
        return None
    try:
        inside, page = docs.resolve(), (docs / path).resolve()
        return page if page.is_relative_to(inside) and page.is_file() else None
    except (OSError, ValueError, ObjectKeyUnusable):
        return None
