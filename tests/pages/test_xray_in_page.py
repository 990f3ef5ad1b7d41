"""`worklog.xray` in a page: what `softmax-lib xray --json` tells of the same launch, and a sentence for what it refuses."""

import re

import numpy as np
import pytest
from playwright.sync_api import Error, expect

from softmax_lib import kernels, xray
from softmax_lib.engine.xrays.counting import hazards_of
from softmax_lib.worklog.reference import noise
from softmax_lib.worklog.registry import broken

from .test_pages import overflow, violations

pytestmark = pytest.mark.site

PAGE = "book/07_float4.html"


@pytest.mark.parametrize(("name", "words", "told"), [
    ("fussion", {}, "fussion is no kernel here; there are .*fusion"), ("fusion", {"cols": 1 << 20, "rows": 1}, "rows of at most 32768"),
    ("online", {"cols": 0}, "cols is 0; it has to be a whole number"), ("float4_aligned", {"cols": 77}, "a multiple of 4, not of 77"),
    ("online", {"rows": 3000, "cols": 3000}, "more than the 4,194,304 elements"), ("online", {"blockSize": 33}, "online is here for rows of 4096 with .* threads per block, not with 33"),
    ("naive_no_guard", {"rows": 40}, "naive_no_guard stopped at naive_no_guard.cu:17: out of bounds"), ("online", {"data": "odd"}, "data is odd; there are normal, spread"), ("online", {"arch": 75.5}, "arch is 75.5; there are 75, 80, 90"),
])  # fmt: skip
def test_what_is_not_there_is_said_in_a_sentence(open_page, name, words, told):
    with pytest.raises(Error) as raised:
        open_page(PAGE).evaluate("([name, words]) => worklog.xray(name, words)", [name, words])
    assert re.search(told, str(raised.value))


def test_data_of_each_kind_a_stop_and_progress(open_page):
    page = open_page(PAGE)
    errors = page.evaluate("""async () => Object.fromEntries(await Promise.all(
        ["normal", "spread", "half masked", "equal", "outlier", "NaN"].map(async (data) =>
            [data, (await worklog.xray("fusion", { rows: 8, cols: 512, data })).worst_error])))""")
    assert all(0 <= error < 1e-6 for error in errors.values()), errors
    told = 'worklog.xray("online_no_test", { data: "half masked" }).then(({ worst_error }) => String(worst_error))'
    assert page.evaluate(told) == "NaN"
    stopped = page.evaluate("""async () => {
        const stop = new AbortController(), heard = [];
        const words = { rows: 4096, cols: 1024, signal: stop.signal, progress: (...one) => { heard.push(one); stop.abort(); } };
        return [await worklog.xray("shared", words).catch((error) => error.message), heard[0][1]];
    }""")
    assert stopped == ["shared was stopped.", 4096 * kernels["shared"].choose_block_size(1024)]


@pytest.mark.parametrize(
    ("name", "kinds"),
    [
        ("fusion_no_barrier", ["race"]),
        ("fusion", []),
        ("shared_no_barrier", ["race"]),
        ("shuffle_one_array", ["race"]),
    ],
)
def test_hazards_are_those_of_the_machine_code_natively(open_page, name, kinds):
    x, kernel = noise(5, 1024), {**kernels, **{one.name: one for one in broken}}[name]
    specs = kernel.launches(x, np.full_like(x, np.nan), kernel.choose_block_size(1024))
    words = {"rows": 5, "cols": 1024, "hazards": True, "x": x.ravel().tolist()}
    found = open_page(PAGE).evaluate("""([name, {x, ...words}]) =>
        worklog.xray(name, {...words, x: Float32Array.from(x)}).then(({hazards}) => hazards)""", [name, words])  # fmt: skip
    wanted = hazards_of(*specs, path="machine")
    assert [[one[key] for key in ("kind", "file", "line")] for one in found] == [
        [one.kind, one.file, one.line] for one in wanted
    ]
    for one, native in zip(found, wanted, strict=True):
        assert native.message.startswith(f"{one['kind']} on {one['array']}[")
        assert one["text"].startswith(f"{one['kind']} on {one['array']}, byte ")
    assert [one["kind"] for one in found] == kinds


@pytest.mark.parametrize("width", [1440, 390])
def test_a_reader_runs_a_kernel(open_page, width):
    page = open_page("book/playground.html", width=width)
    place = page.locator(".worklog-run")
    outcome, run = place.get_by_role("status"), place.get_by_role("button", name="Run it")
    assert outcome.text_content() == ""
    place.get_by_label("Kernel").select_option("shared")
    place.get_by_label("Columns").fill("1000")
    place.get_by_label("Threads per block").select_option("128")
    run.click()
    expect(outcome).to_contain_text("shared on 64 × 1,000, 64 blocks of 128 threads")
    wanted = xray("shared", 64, 1000, 128, path="machine")
    told = place.get_by_role("table").text_content()
    asked = {f"{line.requests:,} {line.operation} {line.array}" for line in wanted.lines}
    assert {one for one in asked if one.strip() not in told} == set()
    assert overflow(page) == []
    place.get_by_label("Rows").fill("100000")
    expect(run).to_be_enabled()
    run.press("Enter")
    expect(outcome).to_have_text(
        "100000 x 1000 are more than the 4,194,304 elements that run here."
    )
    place.get_by_label("Rows").fill("4000")
    run.click()
    place.get_by_role("button", name="Stop").click()
    expect(outcome).to_have_text("shared was stopped.")
    expect(run).to_be_enabled()
    assert page.problems == []
    assert violations(page) == []


def test_a_race_is_named_and_a_link_opens_at_the_same_instruction(open_page):
    page = open_page("book/playground.html#run=fusion_no_barrier,5,1024,64,normal,90,nothing")
    place = page.locator(".worklog-run")
    run = place.get_by_role("button", name="Run it")
    run.click()
    expect(place.get_by_role("listitem")).to_contain_text("fusion_no_barrier: race on pairs")
    place.get_by_role("button", name="Step through it").click()
    place.get_by_label("Block", exact=True).fill("2")
    place.get_by_label("Block", exact=True).press("Enter")
    place.get_by_role("button", name="a step on").click()
    expect(place).to_contain_text("step 1 of")
    assert page.evaluate("location.hash").endswith("&at=2%2C0%2C1")
    page.reload()
    run.click()
    expect(place).to_contain_text("step 1 of")
    expect(place.get_by_label("Block", exact=True)).to_have_value("2")
    assert page.problems == []


@pytest.mark.parametrize("width", [1440, 390])
def test_two_kernels_side_by_side_and_their_link(open_page, width):
    page = open_page("book/06_shuffle.html", width=width)
    place = page.locator(".worklog-run")
    place.get_by_text("in your browser").click()
    assert place.get_by_label("Kernel").input_value() == "shuffle"
    place.get_by_label("Beside it").select_option("shared")
    place.get_by_label("Rows").fill("8")
    place.get_by_role("button", name="Run it").click()
    outcome = place.get_by_role("status")
    expect(outcome).to_contain_text("It took this page")
    told = [xray(name, 8, 4096, path="machine").total["barriers"] for name in ("shuffle", "shared")]
    row = place.get_by_role("group", name="shuffle beside shared").get_by_role(
        "row", name="barriers"
    )
    assert row.get_by_role("cell").all_text_contents()[:2] == [str(one) for one in told]
    assert row.get_attribute("class") == "worklog-differs"
    expect(place.get_by_role("group", name="shuffle and shared, line by line")).to_be_visible()
    assert overflow(page) == []
    page.reload()
    expect(place.get_by_label("Rows")).to_have_value("8")
    expect(place.get_by_label("Beside it")).to_have_value("shared")
    assert outcome.text_content() == ""  # nothing runs before it is pressed
    page.evaluate("location.hash = 'run=<b>bold</b>,8,4096'")
    expect(outcome).to_have_text("The link asks for <b>bold</b>, which is not to be had here.")
    assert page.problems == []
    assert violations(page) == []
