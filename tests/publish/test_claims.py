"""Every claim of the book names what shows it, and the scan that looks for them finds them."""

import nbformat
import pytest
from address import ROOT
from claim_words import PATTERNS, WORDS, claim_words, print_words
from claims import KINDS, RELATIONS, faults, kind, related, relations, table
from nbformat.v4 import new_code_cell, new_markdown_cell, new_notebook
from notebooks import execute
from prose import Page, is_claim, of_cell, read, strings, with_markers
from sentences import MARKER, sentences

SITE = ROOT / "_build" / "html"
PAGES = {path.stem: path for path in with_markers()}


# --- the book -----------------------------------------------------------------------------------


@pytest.mark.parametrize("stem", PAGES)
def test_every_claim_of_a_page_is_shown(stem):
    found = faults(read(PAGES[stem]))
    assert not found, "\n".join(found)


def test_every_page_of_the_book_is_scanned():


def test_every_relation_is_claimed_by_some_page():
    claimed = set().union(*(related(read(path)) for path in PAGES.values()))
    files = {path.stem.removeprefix("test_claims_") for path in RELATIONS.glob("test_*.py")}
    assert files <= PAGES.keys()
    assert {f"{stem}.{name}" for stem in files for name in relations(stem)} - claimed == set()


@pytest.mark.site
def test_the_site_has_no_marker_in_it():
    built = [*SITE.glob("book/*.html"), SITE / "searchindex.js"]
    assert len(built) > len(PAGES)
    assert [path.name for path in built if MARKER.search(path.read_text(encoding="utf-8"))] == []


# --- the list of words --------------------------------------------------------------------------

EXAMPLES = {
    "causes": """\
It idles because it waits.
It idles, since it waits.
It therefore idles.
Hence the constant.
Thus it idles.
The barrier causes a stall.
The reason is a barrier.
Why: the launches are many
That is why it idles.
It idles due to a barrier.
No cache explains those.""",
    "comparisons": """\
It is quicker than a copy.
It is as quick as a copy.
It runs about as quick.
It runs twice.
It takes half the bytes.
It takes a fifth of them.
It takes longer.
It is faster.
It is worse.
It executes more instructions.
It executes less.
This is the fastest rung.
Most of the time it idles.
It mostly idles.
It hardly idles.
Short rows gain by it.
It loses on short rows.
There the peers lead.
It is ahead.
It falls behind.
It beats the peers.
No softmax wins.
The shuffle pays.
A division costs little.
That is what it is worth.
It saves a read.
It wastes sectors.
Warps wait for memory.
One read is enough.
There are too few warps.
The sectors fell by much.
It lies far below the slope.
It is near the copy.
Both need the same time.""",
    "measured numbers": """\
It takes 3.5 µs.
It reaches 3x that.""",
}
NEAR_MISSES = """\
Since then it idles.
The page says why.
It asks rather than waits.
It reads nothing other than x.
It reads x as well as y.
It ends as soon as it can.
Take the first half of the block.
It no longer fits.
Run it once more.
It needs version 7.5 or more.
It is at least 0 and at most 1.
Questions wait for your guess.
The store lies behind a boundary.
They answer at the same time.
It has 1024 × 32768 floats.
It reads 32 bytes by 32 threads.
It was caught, a costume, on Thursday.
`cost` is a name.
It reads $2 \\times 3 > 5$ floats."""
PAIRS = [
    (word, example)
    for group, words in WORDS.items()
    for word, example in zip(words, EXAMPLES[group].splitlines(), strict=True)
]


@pytest.mark.parametrize(("word", "example"), PAIRS)
def test_every_word_finds_its_sentence(word, example):
    assert PATTERNS[word].search(example)
    (sentence,) = sentences(example)
    assert is_claim(sentence)


@pytest.mark.parametrize("text", NEAR_MISSES.splitlines())
def test_near_misses_are_no_claims(text):
    assert [word for sentence in sentences(text) for word in claim_words(sentence.words)] == []


@pytest.mark.parametrize(
    "number",
    "3 µs|3 us|1.5 ms|660 ns|32 cycles|a cycle|3,350 GB/s|3 TB/s|63 MB|8 KiB|40 %".split("|"),
)
def test_a_number_with_a_unit_is_a_measured_one(number):
    assert claim_words(f"It comes to {number}.") == [number]


@pytest.mark.parametrize("number", ["two per cent", "3 percent", "1.2 times", "three times", "3×"])
def test_a_factor_is_a_measured_number(number):
    assert claim_words(f"It comes to {number}.") == [number]


def test_a_question_claims_nothing():
    (sentence,) = sentences("Why is it faster than a copy?")
    assert not is_claim(sentence)


def test_the_list_is_printed_whole(capsys):
    print_words()
    printed = capsys.readouterr().out.splitlines()
    assert {line.strip() for line in printed} == {*WORDS, *PATTERNS}


# --- sentences ----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("markdown", "texts"),
    [
        ("One. Two? Three! Four", ["One.", "Two?", "Three!", "Four"]),
        ("One: two\nand three.", ["One: two and three."]),
        ("It takes 3.5 µs, e.g. Liger. It is.", ["It takes 3.5 µs, e.g. Liger.", "It is."]),
        ("See `06_shuffle.cu`. `x. Y` is.", ["See `06_shuffle.cu`.", "`x. Y` is."]),
        ("It has $n. A$ floats. $n$ is.", ["It has $n. A$ floats.", "$n$ is."]),
        ('He said "It is. So." Then.', ['He said "It is. So."', "Then."]),
        ('It said "Wait... What" then.', ['It said "Wait... What" then.']),
        ("**One.** (Two.) Three.", ["**One.**", "(Two.)", "Three."]),
        ("More than 88.7. Equal.", ["More than 88.7.", "Equal."]),
        ("# A heading\nA line", ["A heading", "A line"]),
        ("- One. Two\n- three\n  goes on\n1. four", ["One.", "Two", "three goes on", "four"]),
        ("| a | b |\n|---|--:|\n| c. | D |", ["a | b", "c. | D"]),
        ("A [warp](glossary.md#warp), [lanes](a.md).", ["A warp, lanes."]),
        ("As ([Key, 2020](references.md#key2020)) [says](a.ipynb).", ["As says."]),
        ("One\n\n$$\na. B\n$$\n\ntwo $$c. D$$\n$$e$$\nthree", ["One", "two $$c. D$$", "three"]),
        ("One\n```\nCode. Code.\n```\ntwo", ["One", "two"]),
        ("<details>\n<summary>A. B</summary>\n\nOne.\nTwo.\n\n</details>", ["One.", "Two."]),
    ],
)
def test_markdown_is_cut_into_sentences(markdown, texts):
    assert [sentence.text for sentence in sentences(markdown)] == texts


@pytest.mark.parametrize(
    "markdown",
    [
        "One.<!-- shown by: counting, cites:key --> Two.",
        "**One.**<!--shown by: counting,cites:key--> Two.",
        "# One<!-- shown by: counting, cites:key -->\nTwo",
        "- One<!-- shown by: counting, cites:key -->\n- Two",
        "| a | b<!-- shown by: counting, cites:key --> |\n|---|---|\n| c | d |",
        "<details>\n<summary>A</summary>\n\nOne.<!-- shown by: counting, cites:key --> Two?\n\n</details>",
    ],
)
def test_a_marker_belongs_to_the_sentence_before_it(markdown):
    found = sentences(markdown)
    marked = [sentence for sentence in found if sentence.shown_by]
    assert [sentence.shown_by for sentence in marked] == [("counting", "cites:key")]
    assert not any(sentence.misplaced or "<!--" in sentence.text for sentence in found)
    assert len(found) == 2


# --- evidence and faults ------------------------------------------------------------------------

CELLS = {
    "counts": "print(2 + 2)",
    "reads": 'print(recorded.times(8, 8)["naive"])',
    "asserts": 'times = measure("naive", 8, 8)\nassert times',
    "prints": "print(device)",
}
LIVE = frozenset(["asserts", "prints"])


def faults_of(markdown):
    """The faults of a page called batches with this text, without where they are."""
    return faults(Page("batches", sentences(markdown, "cell why"), CELLS, LIVE))


@pytest.mark.parametrize(
    "names",
    [
        "results.fusion_beats_the_peers",
        "cell:counts",
        "cell:asserts",
        "cites:little1961proof",
        "counting",
        "definition",
        "results.fusion_beats_the_peers, counting",
    ],
)
def test_each_kind_of_evidence_shows_a_claim(names):
    assert faults_of(f"It is faster.<!-- shown by: {names} -->") == []


def test_a_guess_says_that_it_is_one():
    assert faults_of("Perhaps it is faster.<!-- shown by: guess -->") == []
    assert "does not say so" in faults_of("It is faster.<!-- shown by: guess -->")[0]


@pytest.mark.parametrize(
    ("markdown", "fault"),
    [
        ("It is faster than a copy.", "Nothing shows it (than, faster)."),
        ("It is faster.<!-- shown by: unheard -->", "test_claims_batches.py has no test_unheard."),
        ("It is faster.<!-- shown by: 99_end.it -->", "test_claims_99_end.py has no test_it."),
        ("It runs.<!-- shown by: unheard -->", "test_claims_batches.py has no test_unheard."),
        ("It is faster.<!-- shown by: -->", "test_claims_batches.py has no test_."),
        ("It is faster.<!-- shown by: cell:gone -->", "The page has no code cell gone."),
        ("It is faster.<!-- shown by: cell:reads -->", "Cell reads reads the record and asserts"),
        ("It is faster.<!-- shown by: cell:prints -->", "Cell prints is live and asserts nothing"),
        ("It is faster.<!-- shown by: cites:nobody -->", "references.bib has no entry nobody."),
        ("It is faster.<!-- shown by: hearsay:me -->", "hearsay: is no kind of evidence"),
        ("It is faster. <!-- shown by: counting -->", "without a space"),
        ("It is<!-- shown by: counting --> faster.", "directly behind a sentence"),
        ("<!-- shown by: counting -->\nIt is.", "directly behind a sentence"),
    ],
)
def test_each_fault_has_its_sentence(markdown, fault):
    found = faults_of(markdown)
    assert all(line.startswith("batches, cell why: “") for line in found)
    assert fault in "\n".join(found)


def test_a_table_counts_claims_by_what_shows_them():
    text = "It is faster.<!-- shown by: counting, cites:a --> It is slower. It is."
    heads, counts = table([Page("batches", sentences(text), {})])
    count = dict(zip(heads.split()[1:], map(int, counts.split()[1:]), strict=True))
    assert {head for head, n in count.items() if n} == {"claims", "cites", "counting", "nothing"}
    assert (count["claims"], count["nothing"]) == (2, 1)
    assert kind("cites:a") in KINDS


# --- strings of code cells ----------------------------------------------------------------------

SAYS = 'predict("How?", f"It takes {1 + 1} and is faster than "\n        "a copy of it.")'


def notebook(folder, **metadata):
    """The page of a notebook whose code cell makes a claim, and has this metadata."""
    cells = [new_markdown_cell("It runs."), new_code_cell(SAYS, id="guess", metadata=metadata)]
    path = folder / "batches.ipynb"
    nbformat.write(new_notebook(cells=cells), path)
    return read(path)


def test_a_claim_in_a_cells_strings_is_shown_by_its_metadata(tmp_path):
    (fault,) = faults(notebook(tmp_path))
    assert "cell guess: “It takes ▢ and is faster than a copy of it.” Nothing shows it" in fault
    assert faults(notebook(tmp_path, shown_by="counting")) == []
    assert "has no test_unheard" in faults(notebook(tmp_path, shown_by="unheard"))[0]


def test_evidence_of_a_cell_without_a_claim_is_looked_at_all_the_same():
    cell = new_code_cell("print(1)", id="one", metadata={"shown_by": "unheard"})
    (sentence,) = of_cell(cell)
    assert "has no test_unheard" in faults(Page("batches", [sentence], {}))[0]


@pytest.mark.parametrize(
    ("source", "found"),
    [
        ('"one two three four five six"', 1),
        ('"one two three four five"', 0),
        ('f"{1} {2} {3} {4} {5} {6}"', 0),
        ('%load_ext a\n"one two three four five six"', 1),
        ('"__global__ two three four five six"', 0),
        ('"void f(int a, int b, int c) {\\n"', 0),
        ("%%cuda\none two three four five six", 0),
    ],
)
def test_strings_are_sentences_and_no_cuda(source, found):
    assert len(strings(source)) == found


def test_executing_keeps_what_shows_a_cell(tmp_path):
    cell = new_code_cell("1 + 1", id="sum", metadata={"shown_by": "counting"})
    path = tmp_path / "chapter.ipynb"
    nbformat.write(new_notebook(cells=[cell]), path)
    assert nbformat.reads(execute(path), 4).cells[-1].metadata.shown_by == "counting"
