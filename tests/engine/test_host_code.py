"""What only the host runs is left out of a source, and nothing else; every line stays where it was."""

import pytest

from softmax_lib.engine.host_code import find_annotations, find_host_functions, without_host_code
from softmax_lib.engine.source import Source
from softmax_lib.worklog.files import KERNEL_FOLDER


def left(text):
    """What is left of `text`, in words, and with its lines counted."""
    device = without_host_code(text, find_annotations([text]))
    assert device.count("\n") == text.count("\n")
    assert len(device) == len(text)
    return " ".join(device.split())


KERNEL = "__global__ void k(float* x) { x[0] = 1; }"


@pytest.mark.parametrize(
    "host",
    [
        "int main(int argc, char** argv) { k<<<1, 32>>>(x); return 0; }",
        "static inline unsigned divide(unsigned a, unsigned b) { return (a + b - 1) / b; }",
        "template <class T = float, int N = (3 > 2)> void run(T* x) { k<<<N, 32>>>(x); }",
        "std::vector<float> make(size_t n) { std::vector<float> made(n); return made; }",
        'void say() { printf("} %s {", "}"); /* } */ } // {',
        "void nested() { if (1) { while (0) {} } auto f = [] { return 1; }; f(); }",
        "__host__ float twice(float x) { return 2 * x; }",
        "cudaError_t check(cudaError_t error, const char* file = __FILE__) { return error; }",
        "auto behind(int n) -> int { return n; }",
        "void with_default(int n = f(1, 2), Pair p = {1, 2}) { use(n); }",
        "Matrix::Matrix(int n) : rows_(n), cols_{n} { allocate(); }",
        "std::ostream& operator<<(std::ostream& out, const float4& v) { return out << v.x; }",
        "bool operator==(const dim3& a, const dim3& b) { return a.x == b.x; }",
        "__attribute__((noinline)) void far() { exit(1); }",
        'extern "C" void wrapper(float* x) { k<<<1, 1>>>(x); }',
    ],
)
def test_a_function_of_the_host_is_left_out(host):
    for text in (f"{KERNEL}\n{host}\n", f"{host}\n{KERNEL}\n"):
        assert left(text).replace("// {", "").strip() == KERNEL


@pytest.mark.parametrize(
    "device",
    [
        KERNEL,
        "template <class T, int N> __global__ void __launch_bounds__(N) k(T* x) { x[0] = N; }",
        "__device__ __forceinline__ float half_of(float x) { return x / 2; }",
        "static inline __host__ __device__ int divide(int a, int b) { return a / b; }",
        "constexpr int square(int n) { return n * n; }",
        "struct Pair { float a, b; __device__ float sum() const { return a + b; } };",
        "struct Empty { Empty() = default; };",
        "enum Kind { one, two };",
        "__constant__ float table[3] = {1, 2, 3};",
        "static const int sizes[] = {1, 2};",
        "__device__ auto f = [] __device__ (int n) { return n; };",
        "namespace a { namespace b { __device__ int c() { return 1; } } }",
        'extern "C" { __global__ void k(float* x) { x[0] = 1; } }',
        "__device__ int count{3};",
        "template <> struct Of<float> { static constexpr int size = 4; };",
        "typedef void (*Function)(int);",
        "__device__ float operator+(float2 a, float2 b) { return a.x + b.x; }",
        "union Bits { float f; unsigned u; };",
        "template __global__ void k<float>(float*);",
    ],
)
def test_what_a_gpu_runs_stays(device):
    assert left(f"int main() {{ return 0; }}\n{device}\nvoid last() {{}}\n") == " ".join(
        device.split()
    )


MEMBERS = """struct Buffer {
    float* data;
public:
    Buffer(int n) : size_{n} { cudaMalloc(&data, n); }
    ~Buffer() { cudaFree(data); }
    __device__ float first() const { return data[0]; }
    virtual void run() { k<<<1, 1>>>(*this); }
private:
    int size_;
};
"""
LEFT = {
    "macros that stand for annotations are followed": (
        "#define HD __host__ __device__\n#define FN static \\\n    HD inline\nFN int f() { return 1; }\nint g() { return 2; }\n",
        "#define HD __host__ __device__ #define FN static \\ HD inline FN int f() { return 1; }"),
    "members of the host keep their declaration": (
        MEMBERS, "struct Buffer { float* data; public: Buffer(int n) ; ~Buffer() ; __device__ float first() const "
        "{ return data[0]; } virtual void run() ; private: int size_; };"),
    "instantiations of what is left out go with it": (
        f"template <class T> void run(T* x) {{ k(x); }}\ntemplate void run<float>(float*);\n{KERNEL}\n", KERNEL),
    "lines of the preprocessor stay within what is left out": (
        f"int main() {{\n#ifdef A\n  int x;\n#define B \\\n    2\n#else\n  float x;\n#endif\n}}\n{KERNEL}\n",
        f"#ifdef A #define B \\ 2 #else #endif {KERNEL}"),
}  # fmt: skip


@pytest.mark.parametrize("claim", LEFT)
def test_what_is_left_of_a_source(claim):
    text, expected = LEFT[claim]
    assert left(text) == expected


def test_a_macro_of_a_header_marks_functions_of_the_source():
    source = Source("mine.cu", "HD int f() { return 1; }\nint g() { return 2; }\n")
    source.headers["own.h"] = "#define HD __device__\n"
    assert source.device_text.split() == "HD int f() { return 1; }".split()


@pytest.mark.parametrize(
    "text",
    [
        "#if A\nvoid f(int a) {\n#else\nvoid f(float a) {\n#endif\n  g();\n}\n",
        "#ifdef A\nint main() { return 1; }\n#else\nint main() { return 2; }\n#endif\n",
        "#if 0\n}}}\n#endif\nint main() { return 1; }\n",
        "#ifdef A\nextern \"C\" {\n#endif\nvoid f() {}\n#ifdef A\n}\n#endif\n",
    ],
)  # fmt: skip
def test_branches_that_each_open_a_brace(text):
    device = left(text + KERNEL)
    assert KERNEL in device
    for gone in ("g()", "return"):
        assert gone not in device.replace(KERNEL, "")


def test_functions_are_told_with_their_lines():
    text = (
        '\n// int no() {}\nint one() { return 1; }\n\n\nvoid Class::two(const char* s = "{") {\n}\n'
    )
    assert [(f.name, f.line) for f in find_host_functions(text)] == [("one", 3), ("two", 6)]


CUDA = [path for path in sorted(KERNEL_FOLDER.rglob("*.cu*")) if path.suffix in (".cu", ".cuh")]


@pytest.mark.parametrize("path", CUDA, ids=lambda path: path.name)
def test_the_books_own_kernels_are_compiled_as_they_are(path):
    text = path.read_text()
    assert without_host_code(text, find_annotations([text])) == text
