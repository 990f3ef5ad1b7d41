"""The kernels of a source are found in its text, however they are declared."""

import pytest

from softmax_lib.engine.declarations import find_kernels, find_variables

pytestmark = pytest.mark.quick


@pytest.mark.parametrize(
    ("text", "names"),
    [
        ("__global__ void k(float* x) {}", ["k"]),
        ('extern "C" __global__ void k(float* x) {}', ["k"]),
        ('extern "C" {\n__global__ void a() {}\nstatic __global__ void b(int n) {}\n}', ["a", "b"]),
        ("__global__ void __launch_bounds__(256, 2) k(int n) {}", ["k"]),
        ("__launch_bounds__(MAX(1, 2)) __global__ void k(int n) {}", ["k"]),
        ("template <class T, int N = (1 > 0)> __global__ void k(T* x) {}", ["k"]),
        ("namespace a { namespace b { __global__ void k(); } __global__ void m(); }", ["a::b::k", "a::m"]),
        ("namespace { __global__ void k() { if (true) { } } }\n__global__ void m();", ["k", "m"]),
        ("__global__ void k(int n);\n__global__ void k(int n) { }", ["k"]),
        ("// __global__ void k();\n/* __global__ void m(); */", []),
        ('const char* s = "__global__ void k()"; auto r = R"x(__global__ void m();)x";', []),
        ("#if 0\n__global__ void k();\n#else\n__global__ void m();\n#endif", ["m"]),
        ("#if 0\n#if 1\n__global__ void k();\n#endif\n#endif\n__global__ void m();", ["m"]),
    ],
)  # fmt: skip
def test_kernels_are_found_and_nothing_else(text, names):
    assert [kernel.name for kernel in find_kernels(text)] == names


def test_parameters_are_as_the_source_writes_them():
    text = """
__global__ void k(const float* __restrict__ x,  // a comment, with a comma
                  std::pair<int, float> pair, void (*f)(int, int), const int n[4], unsigned = 3) {}"""
    (kernel,) = find_kernels(text)
    assert kernel.parameters == (
        "const float* __restrict__ x", "std::pair<int, float> pair", "void (*f)(int, int)",
        "const int n[4]", "unsigned = 3",
    )  # fmt: skip
    assert kernel.parameter_names[0::3] == ("x", "n")
    assert kernel.line == 2
    assert find_kernels("__global__ void k(void) {}")[0].parameters == ()


def test_bounds_and_clusters_are_read_where_they_are_numbers():
    text = "__global__ void __cluster_dims__(2, 1, 1) __launch_bounds__(128) k();\n__global__ void __launch_bounds__(16 * 16) m();"
    k, m = find_kernels(text)
    assert (k.cluster, k.most_threads) == ((2, 1, 1), 128)
    assert (m.cluster, m.most_threads) == ((), None)


def test_variables_are_told_from_functions():
    text = """
__constant__ float weights[16];
namespace mine { __device__ unsigned count = 0; __device__ __align__(16) float row[4]; }
__device__ float twice(float x) { return 2 * x; }
__device__ int table[] = {1, 2};
#if 0
__device__ int gone;
#endif"""
    assert find_variables(text) == {
        "weights": True, "mine::count": False, "mine::row": False, "table": False,
    }  # fmt: skip
