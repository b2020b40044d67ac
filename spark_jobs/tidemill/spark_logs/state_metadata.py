"""The stateful operators of a checkpoint: their numbers, names and stores.

Spark writes it beside the state itself, once (version 1), or again where the variables of
`transformWithState` change (version 2, a file for each such batch).
"""

import json
from pathlib import Path
from typing import Any

from tidemill.contract.document import FrozenModel
from tidemill.contract.layout import Layout


class Variable(FrozenModel):
    """A state variable of `transformWithState`.

    Attributes:
        kind: `ValueState`, `ListState` or `MapState`; `TimerState` for its timers.
    """

    name: str
    kind: str


class StateOperator(FrozenModel):
    """An operator with state.

    Attributes:
        operator: Its number: the folder below the checkpoint's `state`.
        name: Spark's, such as `stateStoreSave`.
        stores: Each a store for every partition.
        partitions: Over which its keys are divided.
        variables: The variables of `transformWithState`.
    """

    operator: int
    name: str
    stores: tuple[str, ...]
    partitions: int
    variables: tuple[Variable, ...] = ()


def state_operators(layout: Layout, generation: str) -> list[StateOperator]:
    """The operators of a generation, in the order of their numbers."""
    folder = layout.checkpoint(generation) / "state"
    entries = folder.iterdir() if folder.is_dir() else ()
    numbers = sorted(int(entry.name) for entry in entries if entry.name.isdecimal())
    files = [_newest(folder / str(number) / "_metadata") for number in numbers]
    return [_read(file) for file in files if file is not None]


def _newest(folder: Path) -> Path | None:
    versions = [path for path in (folder / "v2").glob("*") if path.name.isdecimal()]
    if versions:
        return max(versions, key=lambda path: int(path.name))
    first = folder / "metadata"
    return first if first.is_file() else None


def _read(file: Path) -> StateOperator:
    _, _, text = file.read_text(encoding="utf-8").partition("\n")
    said = json.loads(text)
    stores = said["stateStoreInfo"]
    return StateOperator(
        operator=said["operatorInfo"]["operatorId"],
        name=said["operatorInfo"]["operatorName"],
        stores=tuple(store["storeName"] for store in stores),
        partitions=stores[0]["numPartitions"],
        variables=_variables(said.get("operatorPropertiesJson")),
    )


def _variables(properties: str | None) -> tuple[Variable, ...]:
    said: dict[str, Any] = json.loads(properties) if properties else {}
    return tuple(
        Variable(name=one["stateName"], kind=one["stateVariableType"])
        for one in said.get("stateVariables", ())
    )
