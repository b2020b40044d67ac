"""The parameters of a DAG, set without the check and the copies that Airflow makes of them."""

from collections.abc import Mapping

from airflow.sdk import DAG, Param, ParamsDict  # type: ignore[attr-defined] # the stub lacks it

CALLS = {"airflow.sdk:ParamsDict": ("dict_obj",)}
ATTRIBUTES = ("airflow.sdk:DAG.params",)


def set_params(dag: DAG, params: Mapping[str, Param]) -> None:
    """Set the parameters of a DAG.

    Args:
        params: Parameters whose JSON Schema is known to be sound.
    """
    vars(dag)["params"] = ParamsDict(params)
