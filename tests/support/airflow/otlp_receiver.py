"""A receiver of OpenTelemetry metrics on 127.0.0.1: the data points that arrived over OTLP."""

from __future__ import annotations

import gzip
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Thread
from typing import Any, Self

from opentelemetry.proto.collector.metrics.v1.metrics_service_pb2 import (
    ExportMetricsServiceRequest,
)

Point = tuple[str, tuple[tuple[str, str], ...], float]


class OtlpReceiver:
    """Listens as long as its `with` block runs.

    Attributes:
        points: Name, tags and value of each data point; the sum of a histogram.
    """

    def __init__(self) -> None:
        self.points: list[Point] = []
        self._server = ThreadingHTTPServer(("127.0.0.1", 0), self._handler())

    @property
    def endpoint(self) -> str:
        return f"http://127.0.0.1:{self._server.server_port}"

    def __enter__(self) -> Self:
        Thread(target=self._server.serve_forever, daemon=True).start()
        return self

    def __exit__(self, *_: object) -> None:
        self._server.shutdown()
        self._server.server_close()

    def _handler(self) -> type[BaseHTTPRequestHandler]:
        points = self.points

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                body = self.rfile.read(int(self.headers["Content-Length"]))
                if self.headers.get("Content-Encoding") == "gzip":
                    body = gzip.decompress(body)
                points.extend(_points_of(ExportMetricsServiceRequest.FromString(body)))
                self.send_response(200)
                self.send_header("Content-Length", "0")
                self.end_headers()

            def log_message(self, *_: Any) -> None:
                pass

        return Handler


def _points_of(request: ExportMetricsServiceRequest) -> list[Point]:
    metrics = [
        metric
        for resource in request.resource_metrics
        for scope in resource.scope_metrics
        for metric in scope.metrics
    ]
    found = []
    for metric in metrics:
        data = getattr(metric, metric.WhichOneof("data"))
        for point in data.data_points:
            tags = tuple(sorted((one.key, one.value.string_value) for one in point.attributes))
            found.append((metric.name, tags, _value(point)))
    return found


def _value(point: Any) -> float:
    kind = point.WhichOneof("value") if hasattr(point, "as_double") else "sum"
    return float(getattr(point, kind))
