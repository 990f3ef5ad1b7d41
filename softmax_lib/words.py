"""How numbers are written in sentences, pictures and tables."""


def count(number: int, thing: str) -> str:
    """Such as "1 line", "4 lines"."""
    return f"{number} {thing}" if number == 1 else f"{number} {thing}s"


def time_in_words(time_us: float) -> str:
    """Three digits and a unit: "65.1 µs", "10.4 ms"."""
    value, unit = (time_us, "µs") if time_us < 1000 else (time_us / 1000, "ms")
    return f"{value:.{max(0, 3 - len(str(int(value))))}f} {unit}"
