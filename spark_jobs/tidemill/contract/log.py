"""Where lines for the task log go."""

from collections.abc import Callable

Log = Callable[[str], object]
