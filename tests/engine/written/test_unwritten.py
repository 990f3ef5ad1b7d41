"""Which variables a traced source marks as not written yet, and what a compiler's warnings say of others."""

import pytest

from softmax_lib.engine.written.marks import mark_unwritten, read_warnings

IN_A_FUNCTION = "__global__ void k(const float* x) {{\n    {0}\n}}\n"


@pytest.mark.parametrize(
    ("statement", "names"),
    [
        ("float a[4];", ["a"]),
        ("const float* p[4];", ["p"]),
        ("float a[2 * K][3], b, c[f(2)];  // and d[3];", ["a", "c"]),
        ("Pair<float, int> best[K];", ["best"]),
        ("for (int i = 0; i < 3; i++) { float t[2]; t[0] = i; }", ["t"]),
        ("auto f = [&](int n) { float z[3]; return n; };", ["z"]),
        ("struct Own { float v[4]; }; Own own[2];", ["own"]),
        ("float a[2] = {1, 2}; int b[] = {3};", []),
        ("__shared__ float s[32]; static int t[3]; extern int u[2];", []),
        ("x[3]; return; delete p; float b;", []),
        ('printf("float a[4];"); /* float b[4]; */', []),
    ],
)
def test_arrays_without_values_are_marked_behind_their_declaration(statement, names):
    marked = mark_unwritten(IN_A_FUNCTION.format(statement))
    assert [part.split(")")[0] for part in marked.split("EMULATOR_UNWRITTEN(")[1:]] == names
    assert marked.count("\n") == 3


def test_members_parameters_and_macros_are_not():
    text = (
        "#define ROOM float room[4];\nstruct Best { float v[4]; int i; };\nfloat given[3];\n"
        "namespace n { float a[2]; }\n__device__ float f(float (&v)[4]) { return v[0]; }\n"
    )
    assert mark_unwritten(text) == text


def test_a_scalar_is_marked_where_the_compiler_warns_of_it():
    text = IN_A_FUNCTION.format("float a, b;\n    int c;")
    marked = mark_unwritten(text, {(2, "b"), (9, "c")})
    assert marked == text.replace("a, b;", "a, b; EMULATOR_UNWRITTEN(b);")


@pytest.mark.parametrize(
    "said",
    [
        "mine.cu:4:7: warning: 's' may be used uninitialized [-Wmaybe-uninitialized]\n"
        "    4 |     y = s;\nmine.cu:2:11: note: 's' was declared here\n",
        "mine.cu:3:9: warning: variable 's' is used uninitialized whenever 'if' condition is false\n"
        "mine.cu:2:12: note: initialize the variable 's' to silence this warning\n",
    ],
    ids=["g++", "clang++"],
)
def test_what_compilers_say_is_read(said):
    assert read_warnings(said) == {"mine.cu": {(2, "s")}}


def test_other_warnings_are_none_of_these():
    said = "mine.cu:4:7: warning: unused variable 's'\nx.h:2:1: note: 's' was declared here\n"
    assert read_warnings(said) == {}
