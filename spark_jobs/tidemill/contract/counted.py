"""Numbers with their nouns, as every sentence says them."""


def counted(number: int, noun: str, plural: str = "") -> str:
    """A number with its noun, such as `1 row` and `2,000 rows`."""
    return f"{number:,} {noun if number == 1 else plural or noun + 's'}"
