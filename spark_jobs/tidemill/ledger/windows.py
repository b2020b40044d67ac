"""The windows of a result, as far as they tell which rows go where."""

from tidemill.contract.document import FrozenModel


class Windows(FrozenModel):
    """Windows in microseconds since the epoch.

    Attributes:
        slide: From the start of one to that of the next.
    """

    length: int
    slide: int
    offset: int

    def end_of_last(self, until: int) -> int:
        """The end of the last window that begins before a time."""
        return self.last_start(until - 1) + self.length

    def last_start(self, at: int) -> int:
        """The start of the last window that has begun at a time."""
        return (at - self.offset) // self.slide * self.slide + self.offset

    def first_start(self, at: int) -> int:
        """The start of the first window that has not ended at a time."""
        return self.last_start(at - self.length) + self.slide
