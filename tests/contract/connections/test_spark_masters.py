"""A driver is not started where no master of its cluster would answer it."""

from __future__ import annotations

import socket
from collections.abc import Iterator

import pytest

from tidemill.contract.connections.spark_masters import MastersUnreachable, verify_masters


@pytest.fixture
def listener() -> Iterator[str]:
    with socket.create_server(("127.0.0.1", 0)) as server:
        yield f"127.0.0.1:{server.getsockname()[1]}"


@pytest.fixture
def silent() -> Iterator[str]:
    """A port that is taken, where nothing listens."""
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        yield f"127.0.0.1:{taken.getsockname()[1]}"


def test_one_master_that_answers_is_enough(listener: str, silent: str) -> None:
    verify_masters(f"spark://{silent},{listener}", "mill")


@pytest.mark.skipif(not socket.has_ipv6, reason="this machine has no IPv6")
def test_a_master_may_have_an_ipv6_address() -> None:
    with socket.create_server(("::1", 0), family=socket.AF_INET6) as server:
        verify_masters(f"spark://[::1]:{server.getsockname()[1]}", "mill")


def test_masters_that_do_not_answer_are_named(silent: str) -> None:
    with pytest.raises(MastersUnreachable) as error:
        verify_masters(f"spark://{silent}", "mill")
    assert error.value.data == {"masters": [silent], "conn_id": "mill"}


@pytest.mark.parametrize("master", ["local[2]", "yarn", "k8s://https://cluster.example"])
def test_only_a_standalone_cluster_is_asked(master: str) -> None:
    verify_masters(master, "mill")
