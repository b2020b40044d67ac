"""A notifier that keeps what it was asked to send."""

from __future__ import annotations

from typing import Any, ClassVar

from airflow.sdk import BaseNotifier


class RecordingNotifier(BaseNotifier):
    template_fields = ("text", "to")
    sent: ClassVar[list[dict[str, Any]]] = []
    broken: ClassVar[bool] = False

    def __init__(self, text: str, to: list[str] | None = None) -> None:
        super().__init__()
        self.text = text
        self.to = to or []

    def notify(self, context: Any) -> None:
        if type(self).broken:
            raise ConnectionError
        self.sent.append({"text": self.text, "to": self.to})
