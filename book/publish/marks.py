"""Text between two marks, which a script writes into a page that people write."""

from __future__ import annotations

from softmax_lib.worklog.errors import BadInput


def rewrite(text: str, name: str, block: str) -> str:
    """`text` with `block` between the lines `<!-- NAME:begin -->` and `<!-- NAME:end -->`.

    Raises `BadInput` when one of them is missing, or there twice.
    """
    begin, end = f"<!-- {name}:begin -->", f"<!-- {name}:end -->"
    if text.count(begin) != 1 or text.count(end) != 1:
        raise BadInput(f"The page needs the lines {begin} and {end}, once each.")
    before, rest = text.split(begin)
    return f"{before}{begin}\n{block}\n{end}{rest.split(end)[1]}"
