"""The assets that a spec names, as Airflow's."""

from __future__ import annotations

from collections.abc import Iterable

from airflow.sdk import Asset

from tidemill.contract.errors import SpecError
from tidemill.spec.assets import AssetSpec


def assets_of(specs: Iterable[AssetSpec]) -> list[Asset]:
    """Airflow's assets.

    Raises:
        SpecError: Airflow does not take the URI of one of them.
    """
    return [_asset(spec) for spec in specs]


def _asset(spec: AssetSpec) -> Asset:
    try:
        return Asset(name=spec.name or spec.uri, uri=spec.uri, extra={**spec.extra})
    except ValueError as error:
        raise SpecError(
            f"'{spec.uri}' under assets is not the URI of an asset ({error}).",
            remedy="Write it as Airflow wants it for its scheme, such as "
            "postgres://host:5432/database/schema/table.",
            path=None,
            line=None,
            field="assets",
        ) from error
