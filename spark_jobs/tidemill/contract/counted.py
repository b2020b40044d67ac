"""Numbers with their nouns or units, as every sentence says them."""

SIZES = ("bytes", "kB", "MB", "GB", "TB", "PB")


def counted(number: int, noun: str, plural: str = "") -> str:
    """A number with its noun, such as `1 row` and `2,000 rows`."""
    return f"{number:,} {noun if number == 1 else plural or noun + 's'}"


def bytes_in_words(size: float | None) -> str:
    """Such as `1.5 GB`; a dash for an unknown size."""
    if size is None:
        return "–"
    for unit in SIZES:
        if size < 1000 or unit == SIZES[-1]:
            break
        size /= 1000
    return f"{size:,.0f} {unit}" if unit == "bytes" else f"{size:,.1f} {unit}"
