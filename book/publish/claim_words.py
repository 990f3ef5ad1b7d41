"""The words by which a sentence is taken for a claim: a cause, a comparison, a measured number.

Each line is a regular expression for whole words, in any case. Left out on purpose:
"so" and "for", which are seldom a *because* and often something else; "best", which here is mostly
"at its best block size"; "largest" and "smallest", which here speak of the scores of a row; numbers
of bytes, threads and rows, which are given and not measured.
"""

from __future__ import annotations

import re

_NUMBER = (
    r"(?:\d[\d.,]*|an?|one|two|three|four|five|six|seven|eight|nine|ten|eleven|twelve"
    r"|dozen|sixty|hundred|thousand|few|several)"
)

WORDS = {
    "causes": (
        r"because",
        r"since(?! then)",  # "since then" is a date
        r"therefore",
        r"hence",
        r"thus",
        r"cause[sd]?",
        r"reasons?",
        r"^why",  # a heading such as "Why: the launches cost their bytes"
        r"(is|be|was) why",  # "the page says why" claims nothing
        r"due to",
        r"explain(s|ed)",
    ),
    "comparisons": (
        r"(?<!rather )(?<!other )than",  # "rather than" is a choice, "other than" an exception
        r"as (?!well as|soon as)\w+ as",  # "as well as" is "and", "as soon as" is "when"
        r"(at least|about|almost|just|times) as \w+",
        r"twice",
        r"(?<!first )(?<!second )(?<!upper )(?<!lower )half (the|as|of)",  # those halves are places
        r"(an?|two|three) (third|quarter|fifth|sixth|eighth|tenth)s?",
        r"(?<!no )longer",  # "no longer" is "not any more"; "no longer than" has its "than"
        r"(fast|slow|short|few|larg|small|high|low|near|wid|cheap|clos|hard|great)er",
        r"better|worse",
        r"(?<!once )(?<!one )(?<!any )(?<!no )(?<!or )more",  # "once more", "7.5 or more" only count
        r"less",
        r"(fast|slow|long|short|near|few|cheap)est",
        r"(?<!at )(least|most)",  # "at least" and "at most" are bounds
        r"mostly",
        r"hardly",
        r"gain(s|ed)?",
        r"lose[sd]?|lost",
        r"lead(s)?",
        r"ahead",
        r"(falls?|fell|far|is|are|or) behind",  # elsewhere a place, as behind a boundary
        r"beat(s|en)?",
        r"win(s)?|won",
        r"pay(s)?",
        r"cost(s|ly)?",
        r"worth",
        r"save[sd]?",
        r"wast(e|es|ed)",
        r"wait(s|ed|ing)? for(?! your)",  # "questions wait for your guess" times nothing
        r"enough",
        r"too (few|many|much|small|large|slow|fast|short|long)",
        r"(falls?|fell|drops?|dropped|rises?|rose|grows?) (by|from|to)",
        r"(far|well|little) (above|below|under)",
        r"near the|near to|close to",
        r"(?<!at )the same (time|speed|bytes|sectors|traffic)",  # "at the same time" is "together"
    ),
    "measured numbers": (
        rf"{_NUMBER} ?(µs|us|ms|ns|cycles?|[KMGT]i?B(/s)?|%|per ?cent|times)",
        r"\d[\d.,]*[x×]",  # "3x"; a shape such as "1024 × 32" has a space
    ),
}


def claim_words(text: str) -> list[str]:
    """Those words of `text` for which it is taken for a claim, in the order of the list."""
    return [found[0] for pattern in PATTERNS.values() for found in pattern.finditer(text)]


def print_words() -> None:
    """The list, group by group."""
    for group, words in WORDS.items():
        print(group, *words, sep="\n  ")


PATTERNS = {
    word: re.compile(rf"(?<!\w)(?:{word})(?!\w)", re.IGNORECASE)
    for words in WORDS.values()
    for word in words
}
"""Each line of the list, ready to search with."""
