"""An Airflow connection of an Iceberg catalogue, as properties for PyIceberg."""

from tidemill.contract.connections.airflow import Connection

# Properties that say where something is, and are read in logs.
PLAIN = frozenset({"type", "warehouse", "prefix", "py-io-impl", "s3.region", "s3.endpoint"})


def catalog_properties(connection: Connection) -> dict[str, str]:
    """A connection's properties.

    Args:
        connection: Its host is the catalogue's `uri`, its login and password are OAuth's
            credential, as in Airflow's own Iceberg provider; its extra holds properties under
            PyIceberg's names, which win.
    """
    given = {}
    if connection.host:
        port = f":{connection.port}" if connection.port else ""
        given["uri"] = f"{connection.host}{port}"
    if connection.login and connection.password:
        given["credential"] = f"{connection.login}:{connection.password.get_secret_value()}"
    return given | {name: str(value) for name, value in connection.settings.items()}
