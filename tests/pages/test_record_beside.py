"""A reader's record given to the results page: chosen, dropped or pasted, it stands beside the book's."""

import json
from collections import Counter

import pytest
from playwright.sync_api import Locator, Page, expect
from sample_records import BOOK, content, of_another_gpu

from softmax_lib.engine.words import time_in_words
from softmax_lib.records.measurement import PEERS, Measurement
from softmax_lib.records.record import Record
from softmax_lib.records.schema import EXECUTION, SCHEMA, find_fault, rules
from softmax_lib.worklog.registry import kernels, rungs

from .conftest import SITE
from .test_pages import overflow, violations

pytestmark = pytest.mark.site

PAGE = "book/results.html"
WIDTHS = [1400, 390]
FILE = "The file of your GPU's record"
L4 = Record(of_another_gpu())
H200 = Record(content())

DROP = """([text, name]) => {
    const data = new DataTransfer();
    data.items.add(new File([text], name, {type: "application/json"}));
    const over = new DragEvent("dragover", {dataTransfer: data, bubbles: true, cancelable: true});
    const taken = !document.body.dispatchEvent(over);
    document.body.dispatchEvent(new DragEvent("drop", {dataTransfer: data, bubbles: true, cancelable: true}));
    return taken;
}"""


def choose(page: Page, text: str, name: str = "nvidia-l4.json") -> None:
    file = {"name": name, "mimeType": "application/json", "buffer": text.encode()}
    page.get_by_label(FILE).set_input_files(file)


def drop(page: Page, text: str, name: str = "nvidia-l4.json") -> None:
    page.get_by_label(FILE).wait_for()
    assert page.evaluate(DROP, [text, name])


def paste(page: Page, text: str, name: str = "") -> None:
    page.get_by_text("Paste it").press("Enter")
    page.get_by_label("The text of the file").fill(text)
    page.get_by_role("button", name="Show it").press("Enter")


def control(page: Page, label: str) -> Locator:
    return page.locator(".worklog-beside").get_by_label(label, exact=True)


def outcome(page: Page) -> Locator:
    return page.locator(".worklog-beside [role=status]")


def given(page: Page, record: Record) -> None:
    expect(outcome(page)).to_contain_text(f"{record.where} is shown beside {H200.where}")


def with_record(open_page, record: Record = L4, **look) -> Page:
    """The page with this record's file chosen."""
    page = open_page(PAGE, **look)
    choose(page, json.dumps(record.content))
    given(page, record)
    return page


@pytest.mark.parametrize("width", WIDTHS)
@pytest.mark.parametrize("give", [choose, drop, paste])
def test_a_record_stands_beside_the_books_however_it_was_given(open_page, give, width):
    page = open_page(PAGE, width=width)
    page.wait_for_load_state("networkidle")
    asked: list[str] = []
    page.on("request", lambda request: asked.append(request.url))
    give(page, json.dumps(of_another_gpu()))
    given(page, L4)
    table = page.get_by_role("group", name="Times on")
    for matrix in ("1024 × 32768", "1024 × 2048"):
        control(page, "Matrix").select_option(matrix)
        times = [one.times(*map(int, matrix.split(" × "))) for one in (H200, L4)]
        for name in (kernel.name for kernel in rungs()):
            cells = table.locator(f"tr:has(th:text-is('{name}')) td").all_inner_texts()
            expected = [
                (
                    time_in_words(of[name].median_us) + "*" * of[name].stale,
                    f"{of[name].copy_share:.0%}",
                    f"{of['naive'].median_us / of[name].median_us:.3g}",
                )
                for of in times
            ]
            assert cells == [word for one in expected for word in one]
        ladder, *_ = page.locator(".worklog-beside figure > svg").all()
        for of in times:
            expect(
                ladder.locator("text", has_text=time_in_words(of["naive"].median_us))
            ).to_have_count(1)
            assert time_in_words(of["fusion"].median_us) in ladder.get_attribute("aria-label")
    assert asked == page.problems == []
    expect(page.locator(".worklog-beside")).to_contain_text("nothing is sent anywhere")
    assert overflow(page) == []


@pytest.mark.parametrize("width", WIDTHS)
def test_a_name_that_is_no_name_is_cut(open_page, width):
    long = of_another_gpu()
    long["gpu"]["name"] = long["date"] = 100_000 * "a"
    page = with_record(open_page, Record(long), width=width)
    assert len(page.locator(".worklog-beside").inner_text()) < 20_000
    assert overflow(page) == page.problems == []


def test_curves_of_each_kernel_are_of_both_records(open_page):
    page = with_record(open_page)
    for kernel in rungs():
        control(page, "Kernel").select_option(kernel.name)
        _, _, sizes = page.locator(".worklog-beside figure > svg").all()
        told = sizes.get_attribute("aria-label")
        for record in (H200, L4):
            for timing in record.select(
                provider=kernel.name, rows=1024, cols=32768, dtype="float32", l2="cold"
            ):
                assert f"{timing.case.block_size} {time_in_words(timing.median_us)}" in told


def cells_of(page: Page, name: str) -> dict[str, list[str]]:
    """What each line of a table says, by its head."""
    lines = page.get_by_role("group", name=name).locator("tbody tr").all()
    return {line.locator("th").inner_text(): line.locator("td").all_inner_texts() for line in lines}


def race_on(matrix: str) -> list[Measurement]:
    """Rungs, each at its best block size, and peers on this matrix, the fastest first."""
    times = H200.times(*map(int, matrix.split(" × ")))
    racing = [time for name, time in times.items() if name not in kernels or not kernels[name].foil]
    return sorted(racing, key=lambda time: time.median_us)


def test_the_fastest_on_each_matrix_are_those_of_the_records(open_page):
    page = with_record(open_page)
    table = cells_of(page, "The fastest on each matrix")
    timed = control(page, "Matrix").locator("option").all_inner_texts()
    raced = [matrix for matrix in timed if any(t.case.provider in PEERS for t in race_on(matrix))]
    assert list(table) == raced != timed
    counts = Counter[str]()
    for matrix, cells in table.items():
        race = race_on(matrix)
        first, second = race[:2]
        ratio = second.median_us / first.median_us
        lead = f"{100 * (ratio - 1):.0f}% ahead of" if ratio < 2 else f"{ratio:.3g} × as fast as"
        beside = "level with" if first.ties(second) else lead
        assert cells == [first.label, f"{beside} {second.label}"] * 2
        rung, peer = (
            next(t for t in race if (t.case.provider in kernels) == ours) for ours in (True, False)
        )
        ahead = "ahead" if rung is first else "behind"
        counts["level" if rung.ties(peer) else ahead] += 1
    told = ", ".join(f"{how} on {counts[how]}" for how in ("ahead", "level", "behind"))
    for record in (H200, L4):
        expect(page.locator(".worklog-beside")).to_contain_text(
            f"{record.where}: the best rung beside the best peer is {told}."
        )


def test_hardware_counters_are_those_of_the_records(open_page):
    counted = {**content(), "date": "2030-01-01"}
    counted["counters"] = [one for one in counted["counters"] if one["kernel"] != "naive"]
    for one in counted["counters"]:
        if one["kernel"] == "fusion":
            for name in EXECUTION:
                one.pop(name)
    page = with_record(open_page, Record(counted))
    for cols in (32768, 2048):
        matrix = f"1024 × {cols}"
        control(page, "Matrix").select_option(matrix)
        table = cells_of(page, f"Hardware counters on {matrix}")
        profiles = H200.profiles_on(1024, cols)
        assert list(table) == [rung.name for rung in rungs() if rung.name in profiles]
        for name, cells in table.items():
            profile = profiles[name]
            parts = [
                profile.counters["dram_read_bytes"] / profile.case.matrix_bytes,
                profile.counters["dram_write_bytes"] / profile.case.matrix_bytes,
                profile.stalls["long_scoreboard"],
                profile.issue_share,
            ]
            told = [f"{part:.2f}" for part in parts]
            assert cells[:4] == told
            of_reader = {
                "naive": ["not counted"],
                "fusion": [*told[:2], "not counted", "not counted"],
            }
            assert cells[4:] == of_reader.get(name, told)
    without = next(
        option
        for option in control(page, "Matrix").locator("option").all_inner_texts()
        if tuple(map(int, option.split(" × "))) not in {p.case.shape for p in H200.profiles}
    )
    control(page, "Matrix").select_option(without)
    expect(page.locator(".worklog-beside")).to_contain_text(
        f"No hardware counters were read on {without} floats."
    )


def test_how_each_was_recorded_is_told(open_page):
    page = with_record(open_page)
    page.get_by_text("How each was recorded").press("Enter")
    table = cells_of(page, "How each was recorded")
    assert violations(page) == []
    for part in ("gpu", "software", "protocol"):
        for name in content()[part]:
            facts = [of[part][name] for of in (content(), of_another_gpu())]
            assert table[name] == [f"{f:.15g}" if isinstance(f, float) else str(f) for f in facts]


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("width", WIDTHS)
def test_what_is_drawn_can_be_read_in_light_and_dark(open_page, width, scheme):
    page = with_record(open_page, width=width, scheme=scheme)
    assert violations(page) == []
    for words in page.locator(".worklog-beside svg text").all():
        assert words.evaluate(
            "one => { const a = one.getBoundingClientRect(), b = one.ownerSVGElement.getBoundingClientRect();"
            " return a.left >= b.left - 1 && a.right <= b.right + 1; }"
        ), words.text_content()


OVERLAPPING = """svg => {
    const boxes = [...svg.querySelectorAll("text")].map(one => [one.textContent, one.getBoundingClientRect()]);
    return boxes.flatMap(([words, a], at) => boxes.slice(at + 1)
        .filter(([, b]) => a.left < b.right && b.left < a.right && a.top + 2 < b.bottom && b.top + 2 < a.bottom)
        .map(([others]) => [words, others]));
}"""


@pytest.mark.parametrize("width", WIDTHS)
def test_two_records_of_one_gpu_are_told_apart_and_no_words_lie_on_others(open_page, width):
    page = with_record(open_page, Record({**content(), "date": "2030-01-01"}), width=width)
    heads = page.get_by_role("group", name="Times on").locator("th[scope=colgroup]")
    expect(heads).to_have_text([H200.where, "NVIDIA H200, 2030-01-01"])
    for kernel in rungs():
        control(page, "Kernel").select_option(kernel.name)
        for svg in page.locator(".worklog-beside figure > svg").all():
            assert svg.evaluate(OVERLAPPING) == []


def test_it_is_reached_and_done_by_keyboard_alone(open_page):
    page = open_page(PAGE)
    page.on("filechooser", lambda _: None)  # who first asks for it below may be told too late
    page.get_by_label(FILE).focus()
    expect(page.get_by_label(FILE)).to_be_focused()
    with page.expect_file_chooser() as chooser:
        page.keyboard.press("Space")
    chooser.value.set_files(BOOK)
    given(page, H200)
    page.keyboard.press("Tab")
    expect(page.get_by_text("Paste it")).to_be_focused()
    page.keyboard.press("Tab")
    expect(control(page, "Matrix")).to_be_focused()
    before = control(page, "Matrix").input_value()
    page.keyboard.press("ArrowDown")
    expect(control(page, "Matrix")).not_to_have_value(before)


WRONG = {
    "empty": ("", "x.json is no record: it is not JSON."),
    "a list": ("[]", "x.json is no record: it does not say which schema it has."),
    "another schema": (
        json.dumps(content(schema=SCHEMA + 1)),
        f"x.json has schema {SCHEMA + 1}; this page reads schema {SCHEMA}.",
    ),
    "damaged": (
        json.dumps(content(rows=[{**content()["rows"][0], "median_us": -1}])),
        "x.json is damaged: median_us of rows[0] is -1, which cannot be.",
    ),
    "no rung": (
        json.dumps(content(rows=[])),
        f"The record of {H200.where} has no time of a rung on a matrix of this book.",
    ),
    "markup": (
        json.dumps({**of_another_gpu(), "<img src=x onerror=alert(1)>": 1}),
        "x.json is damaged: the record has <img src=x onerror=alert(1)>, which is not known here.",
    ),
}


@pytest.mark.parametrize(("text", "sentence"), WRONG.values(), ids=WRONG.keys())
def test_what_is_no_record_is_one_sentence_and_what_was_shown_stays(open_page, text, sentence):
    page = open_page(PAGE)
    choose(page, text, "x.json")
    expect(outcome(page)).to_have_text(sentence)
    expect(page.locator(".worklog-beside figure")).to_have_count(0)
    choose(page, json.dumps(of_another_gpu()))
    given(page, L4)
    before = page.locator(".worklog-beside figure").first.inner_html()
    choose(page, text, "x.json")
    expect(outcome(page)).to_have_text(f"{sentence} What is shown is still {L4.where}.")
    assert page.locator(".worklog-beside figure").first.inner_html() == before
    assert page.problems == []


def test_a_kernel_that_is_in_no_record_or_has_changed_is_shown_as_such(open_page):
    changed = of_another_gpu()
    changed["rows"] = [row for row in changed["rows"] if row["provider"] != "shuffle"]
    changed["kernels"]["naive"] = "0" * 64
    page = with_record(open_page, Record(changed))
    times = page.get_by_role("group", name="Times on")
    expect(times.locator("tr", has_text="shuffle")).to_contain_text("not yet measured")
    ladder = page.locator(".worklog-beside figure > svg").first
    expect(ladder.locator("text", has_text="not yet measured")).to_have_count(1)
    naive = f"{time_in_words(Record(changed).times(1024, 32768)['naive'].median_us)}*"
    expect(times.locator("tr:has(th:text-is('naive'))")).to_contain_text(naive)
    expect(page.locator(".worklog-beside")).to_contain_text("* before this kernel changed")


def harmed():
    """Contents of records, each with one thing wrong, at every place that a rule is about."""
    whole = content()
    for part in ("rows", "counters", "probes"):
        whole[part] = whole[part][:1]
    odd = (None, "", "x", True, -1, 0, 7, 1.5, [], {})
    for name in whole:
        yield {key: value for key, value in whole.items() if key != name}
        for value in odd:
            yield {**whole, name: value}
    for part in ("gpu", "software", "kernels", "clocks"):
        for name in whole[part]:
            for value in odd:
                yield {**whole, part: {**whole[part], name: value}}
    for part in ("rows", "counters", "probes"):
        for name in whole[part][0]:
            yield {**whole, part: [{k: v for k, v in whole[part][0].items() if k != name}]}
            for value in (*odd, "copy", "quack", 33):
                yield {**whole, part: [{**whole[part][0], name: value}]}
    yield {**whole, "probes": [{**whole["probes"][0], "found": {"us": 0}}]}
    yield {**whole, "notes": [1]}


def test_the_page_refuses_what_python_refuses_and_takes_what_it_takes(open_page):
    page = open_page(PAGE)
    some = list(harmed())
    found = page.evaluate(
        "([all, rules]) => all.map(one => worklogRecords.findFault(one, rules))", [some, rules()]
    )
    expected = [find_fault(one) for one in some]
    differing = [
        (ours, theirs)
        for ours, theirs in zip(found, expected, strict=True)
        if (ours is None) != (theirs is None) or (ours or "")[:12] != (theirs or "")[:12]
    ]
    assert differing == []
    assert None in expected
    assert len(set(expected)) > 100
    there = page.evaluate("worklogRecord.rules")
    assert there.pop("largest") == pytest.approx(rules()["largest"])
    assert there == {name: rule for name, rule in rules().items() if name != "largest"}


def test_it_works_in_a_page_that_is_opened_as_a_file(chromium):
    page = chromium.new_page()
    page.goto(f"file://{SITE / PAGE}")
    choose(page, json.dumps(of_another_gpu()))
    given(page, L4)
    page.close()


def test_without_scripts_a_sentence_says_where_the_file_goes(chromium, server):
    context = chromium.new_context(java_script_enabled=False)
    page = context.new_page()
    page.goto(server + PAGE)
    expect(page.locator(".worklog-beside")).to_contain_text("into the folder book/measurements")
    expect(page.locator(".worklog-beside input")).to_have_count(0)
    context.close()


def test_other_pages_do_not_load_it():
    with_it = [
        path.name for path in SITE.glob("book/*.html") if "book_record.js" in path.read_text()
    ]
    assert with_it == ["results.html"]
