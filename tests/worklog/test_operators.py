"""Operators of a reader's own: what `check`, `xray` and `measure` find of them, and what they say of bad words."""

import numpy as np
import pytest

from softmax_lib import check, measure, xray
from softmax_lib.engine.errors import BadInput, IllegalAddress, NotAvailable, WrongType
from softmax_lib.gpu.presence import has_gpu
from softmax_lib.suites.rmsnorm import measure as rmsnorm
from softmax_lib.worklog import operators
from softmax_lib.worklog.checking import check_operator

TEXT = rmsnorm.step("shuffle").source.text
RMS = {
    "reference": rmsnorm.reference,
    "inputs": {"x": "rows cols", "weight": "cols"},
    "scalars": {"eps": 1e-6},
    "leave_out": ("both ends of float32", "all near -3e38"),
}
LENGTHS = (1, 31, 127)

ENDS = """
__global__ void ends(const float* x, float* low, float* high, int rows, int cols) {
    const float* x_row = x + (size_t)blockIdx.x * cols;
    float least = INFINITY, most = -INFINITY;
    bool is_bad = false;
    for (int col = 0; col < cols; col++) {
        is_bad |= isnan(x_row[col]);
        least = fminf(least, x_row[col]);
        most = fmaxf(most, x_row[col]);
    }
    low[blockIdx.x] = is_bad ? NAN : least;
    high[blockIdx.x] = is_bad ? NAN : most;
}
"""
TWO = {
    "reference": lambda x: (x.min(axis=1), x.max(axis=1)),
    "outputs": {"low": "rows", "high": "rows"},
}


def edited(old, new, text=TEXT):
    assert old in text
    return text.replace(old, new)


@pytest.mark.parametrize("name", [name for names in rmsnorm.STEPS.values() for name in names])
def test_every_step_of_the_rmsnorm_page_is_right_also_off_the_start_of_its_arrays(name):
    step = rmsnorm.step(name)
    result = check_operator(step, "cpu", (1, 31, 1000, 4096))
    assert result.ok, result
    assert {one.offset for one in result.attempts} == ({0} if step.vector > 1 else {0, 1})


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ("squares / cols", "squares", "row 0 (normal), column 0 is"),
        (" + eps", "", "row 2 (equal), column 0 is"),
        ("y_row[col] = x_row", "if (col + 1 < cols) y_row[col] = x_row", "column 0 is nan"),
    ],
)
def test_what_is_wrong_is_told(old, new, said):
    result = check(edited(old, new), lengths=LENGTHS, **RMS)
    assert not result.ok
    assert said in str(result)


def test_an_input_that_is_written_is_told_where_its_parameter_allows_it():
    text = edited("const float* weight", "float* weight")
    text = edited(
        "    float scale",
        "    if (threadIdx.x == 0) weight[0] = weight[0] + 0.0f * rows - 0.0f;\n    float scale",
        text,
    )
    assert check(text, lengths=LENGTHS, **RMS).ok, (
        "a store of what is there already changes nothing"
    )
    text = edited("weight[0] + 0.0f * rows - 0.0f", "weight[0] * (1 + 1e-7f)", text)
    assert "it wrote into weight, an input" in str(check(text, lengths=LENGTHS, **RMS))


def test_what_is_written_behind_an_array_is_a_fault_at_its_line():
    with pytest.raises(IllegalAddress, match=r"y\[16\], past the end of its 16 elements at"):
        check(edited("y_row[col] =", "y_row[col + 1] ="), lengths=(1,), **RMS)


def test_one_array_can_be_input_and_output_and_an_operator_can_have_several_outputs():
    text = edited("const float* x,", "float* x,").replace("float* y,\n", "\n")
    text = edited("float* y_row = y", "float* y_row = x", text)
    assert check(text, lengths=LENGTHS, **RMS, outputs={"x": "rows cols"}).ok
    assert check(ENDS, lengths=LENGTHS, **TWO).ok
    mixed = check(edited("most = fmaxf", "most = fminf", ENDS), lengths=LENGTHS, **TWO)
    assert "high, row 0 (normal), column 0 is -inf" in str(mixed)


@pytest.mark.parametrize("dtype", ["__half", "__nv_bfloat16"])
def test_types_are_those_of_the_parameters_and_a_template_is_told_its_own(dtype):
    text = """
    #include <cuda_fp16.h>
    #include <cuda_bf16.h>
    template <typename T>
    __global__ void twice(const T* x, T* y, int rows, int cols) {
        for (int i = blockIdx.x * cols; i < (blockIdx.x + 1) * cols; i++) y[i] = T(2.0f * float(x[i]));
    }
    """
    words = {"reference": lambda x: 2 * x, "lengths": LENGTHS}
    known = {"__half": "float16", "__nv_bfloat16": "bfloat16"}[dtype]
    result = check(text, kernel=f"twice<{dtype}>", dtype=known, **words)
    assert (result.ok, result.dtype) == (True, known)
    plain = (
        text.replace("template <typename T>", "")
        .replace("T*", f"{dtype}*")
        .replace("T(", f"{dtype}(")
    )
    assert check(plain, **words).dtype == known
    assert not check(plain.replace("2.0f", "2.1f"), **words).ok


def test_an_xray_counts_and_looks_for_races_on_ragged_matrices_too():
    words = {**RMS, "block_size": 64}
    found = xray(TEXT, 8, 1024, **words, ragged=True)
    assert (found.hazards, found.total["barriers"], found.blocks) == ((), 8, 8)
    assert found.total["bytes_asked"] == 4 * 8 * 1024 * 4, "x twice, weight, y"
    torn = xray(edited("    __syncthreads();\n", ""), 8, 1024, **words)
    assert "race" in {one.kind for one in torn.hazards}
    ragged = edited("if (lane == 0) partial", "if (lane == 0 && threadIdx.x < cols) partial")
    assert not xray(ragged, 8, 1024, **words).hazards
    (unset,) = xray(ragged, 8, 1024, **words, ragged=True).hazards
    assert "on a matrix of (3, 1)" in unset.message


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ({"reference": lambda x: x / (1 // 0)}, r"The reference raised ZeroDivisionError on \(16, 1\): integer division or modulo by zero\."),
        ({"reference": lambda x: x[0]}, r"The reference returned shape \(1,\) for y, which is \(16, 1\)\."),
        ({"reference": lambda x: (x, x)}, "The reference returned 2 arrays; there are 1 outputs, y."),
        ({"reference": lambda x: "text"}, "The reference returned a str for y."),
        ({"reference": lambda x, w: x}, "The reference takes w, which is none of x, weight, eps, rows, cols."),
        ({"reference": lambda x: any(0 for _ in iter(int, 1))}, r"The reference has not returned after 0\.1 s on \(16, 1\)\."),
        ({"reference": 3}, "reference is a int; it is a function."),
        ({"reference": None}, "An operator needs its reference"),
        ({"inputs": {"x": "rows cols"}}, r"rmsnorm takes `const float\* weight`, and weight is not in inputs"),
        ({"inputs": {"x": "rows cols", "weight": "c"}}, r"inputs\['weight'\] is 'c'; a shape is such as"),
        ({"inputs": ["x"]}, "inputs is a list; it takes shapes by names"),
        ({"inputs": {"x": "rows cols", "weight": "cols", "eps": "1"}}, "eps is `float eps`; an input"),
        ({"outputs": {}}, "An operator has at least one output."),
        ({"scalars": {}}, "rmsnorm takes `float eps`, and eps is not in scalars."),
        ({"scalars": {"eps": 1e-6, "p": 2}}, "rmsnorm has no parameter p; it has x, weight, y"),
        ({"leave_out": ("odd",)}, "There are no rows called 'odd'; there are normal,"),
        ({"dtype": "int8"}, "dtype is one of float32, bfloat16, float16, and not 'int8'."),
        ({"vector": 0}, "vector is 0"),
        ({"block_size": "256"}, "block_size is a str"),
        ({"kernel": "softmax"}, "There is no kernel 'softmax'"),
    ],
)  # fmt: skip
def test_bad_words_get_one_sentence(words, said, monkeypatch):
    monkeypatch.setattr(operators, "REFERENCE_S", 0.1)
    with pytest.raises((BadInput, WrongType, LookupError), match=said) as caught:
        check(TEXT, lengths=(1,), **{**RMS, **words})
    assert len(str(caught.value).splitlines()) == 1


@pytest.mark.skipif(has_gpu(), reason="there is a GPU")
def test_without_a_gpu_measure_says_so_and_gives_no_time():
    with pytest.raises(NotAvailable, match="no GPU here to time rmsnorm on; check and xray run"):
        measure(TEXT, 64, 1000, **RMS)
    with pytest.raises(BadInput, match="needs its reference"):
        measure(TEXT, 64, 1000, inputs={"x": "rows cols"})


@pytest.mark.gpu
@pytest.mark.alone
def test_a_kernel_is_timed_beside_others_and_nothing_wrong_is():
    def torch_rmsnorm(x, weight, eps):
        return x / (x.square().mean(1, keepdim=True) + eps).sqrt() * weight

    own, others = measure(TEXT, 4096, 4096, **RMS, beside={"torch": torch_rmsnorm})
    assert own.us < others.us
    assert 0.3 < own.copy_share < 1
    with pytest.raises(BadInput, match="twice computes something else"):
        measure(TEXT, 64, 4096, **RMS, beside={"twice": lambda x: 2 * x})
    with pytest.raises(BadInput, match="It is not timed, for it is wrong"):
        measure(edited("squares / cols", "squares"), 64, 4096, **RMS)


def test_numbers_too_large_for_a_dtype_are_due_as_infinities():
    text = """__global__ void huge(const float* x, float* y, int rows, int cols) {
        for (int i = blockIdx.x * cols; i < (blockIdx.x + 1) * cols; i++) y[i] = x[i] * 4.0f;
    }"""
    with np.errstate(over="ignore"):
        assert check(text, reference=lambda x: 4 * x, lengths=(33,)).ok
