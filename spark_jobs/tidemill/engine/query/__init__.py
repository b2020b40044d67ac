"""From sources through the transform to the sink's rows, and what is refused on the way."""
