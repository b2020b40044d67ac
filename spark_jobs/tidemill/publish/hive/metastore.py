"""A connection to a Hive metastore; its errors come out as Tidemill's."""

from collections.abc import Iterator
from contextlib import contextmanager

# First the one that PyIceberg does not bring: its name leads to the extra.
from thrift.protocol.TBinaryProtocol import TBinaryProtocol
from thrift.Thrift import TException
from thrift.transport.TSocket import TSocket
from thrift.transport.TTransport import TBufferedTransport, TTransportException

from hive_metastore.ThriftHiveMetastore import Client  # isort: skip
from hive_metastore.ttypes import AlreadyExistsException, MetaException  # isort: skip

from tidemill.contract.connections.hive import Metastore
from tidemill.contract.errors import Refused
from tidemill.publish.target import TargetUnreachable

TIMEOUT_SECONDS = 60
# The metastore is away, or its database is; or somebody else was faster.
_PASSING = (TTransportException, MetaException, AlreadyExistsException, OSError)


PUBLISHED = "The rows are published"


class RegistrationRefused(Refused):
    """A Hive metastore refuses to name a Delta table; carries `table`."""


@contextmanager
def open_metastore(metastore: Metastore, table: str, so_far: str = PUBLISHED) -> Iterator[Client]:
    """A client, connected.

    Args:
        table: What it is asked about, for errors.
        so_far: What the caller has done, for the remedies of errors.

    Raises:
        TargetUnreachable: it does not answer, or cannot do it now.
        RegistrationRefused: it refuses what it is asked.
    """
    socket = TSocket(metastore.host, metastore.port)
    socket.setTimeout(TIMEOUT_SECONDS * 1000)
    transport = TBufferedTransport(socket)
    try:
        transport.open()
        client = Client(TBinaryProtocol(transport))
        if metastore.user is not None:
            client.set_ugi(metastore.user, [])
        yield client
    except _PASSING as error:
        raise TargetUnreachable(
            f"The Hive metastore did not take {table}: {_said(error)}",
            remedy=f"{so_far}; the next try asks it again. Check the metastore at "
            f"{metastore.host}:{metastore.port}.",
            target=table,
        ) from error
    except TException as error:
        raise RegistrationRefused(
            f"The Hive metastore refuses {table}: {_said(error)}",
            remedy=f"{so_far}. Correct `catalog` of the Delta target, or what the metastore "
            "complains of; the next try asks it again.",
            table=table,
        ) from error
    finally:
        transport.close()


def _said(error: Exception) -> str:
    return " ".join(str(getattr(error, "message", None) or error).split())[:300]
