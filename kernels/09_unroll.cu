// unroll: 07_float4 with two numbers left open, for a search to set.
//   x, y     (rows, cols) float32, row-major
//   macros   UNROLL turns of a loop written out; IN_FLIGHT vectors asked for in each
//   grid     rows                 block   BLOCK threads, a multiple of WARP
//   shared   2 floats per warp    needs   any cols >= 1, any 4-byte aligned address
//   traffic  2 reads + 1 write per element (least: 1 + 1)
//   next     rows too short to keep a block busy -> 10_warp

#include "block_reduce.cuh"
#include "float4.cuh"

// The vector at `at`, or -inf where the row has none.
__device__ float4 vector_or_lowest(const float* body, int at, int vectors) {
    if (at < vectors) return load4(body + 4 * at);
    return make_float4(-INFINITY, -INFINITY, -INFINITY, -INFINITY);
}

// No thread may take more registers than there are for it in a block of BLOCK.
extern "C" __global__ void __launch_bounds__(BLOCK)
softmax_unroll(const float* __restrict__ x, float* __restrict__ y, int rows, int cols) {
    __shared__ float maxima[WARPS], sums[WARPS];
    int tid = threadIdx.x;
    const float* x_row = x + (long long)blockIdx.x * cols;
    float* y_row = y + (long long)blockIdx.x * cols;
    int head = min(floats_to_boundary(x_row), cols);
    int vectors = (cols - head) / 4;
    int edges = cols - 4 * vectors;
    int edge = tid < head ? tid : 4 * vectors + tid;
    const float* x_body = x_row + head;

    // 1. max and sum of this thread's columns, rescaled once for the vectors of a turn
    float thread_max = -INFINITY, thread_sum = 0.0f;
    if (tid < edges && x_row[edge] != -INFINITY) {
        thread_max = fmaxf(thread_max, x_row[edge]);
        thread_sum = expf(x_row[edge] - thread_max);
    }
#pragma unroll UNROLL
    for (int first = tid; first < vectors; first += IN_FLIGHT * BLOCK) {
        float4 v[IN_FLIGHT];
#pragma unroll
        for (int i = 0; i < IN_FLIGHT; i++) {
            v[i] = vector_or_lowest(x_body, first + i * BLOCK, vectors);
        }
        float new_max = thread_max;
#pragma unroll
        for (int i = 0; i < IN_FLIGHT; i++) new_max = fmaxf(new_max, max4(v[i]));
        // as long as all is -inf, subtract 0: -inf - -inf would be NaN
        float shift = new_max == -INFINITY ? 0.0f : new_max;
        thread_sum *= expf(thread_max - shift);
#pragma unroll
        for (int i = 0; i < IN_FLIGHT; i++) thread_sum += sum4(exp4(v[i], shift));
        thread_max = new_max;
    }

    // 2. max and sum of the row
    float row_max = block_max(thread_max, maxima);
    float scale = 1.0f / block_sum(thread_sum * expf(thread_max - row_max), sums);

    // 3. write; a y that is aligned differently from x takes single floats
    if (tid < edges) y_row[edge] = expf(x_row[edge] - row_max) * scale;
    bool y_is_aligned = floats_to_boundary(y_row + head) == 0;
#pragma unroll UNROLL
    for (int first = tid; first < vectors; first += IN_FLIGHT * BLOCK) {
        float4 v[IN_FLIGHT];
#pragma unroll
        for (int i = 0; i < IN_FLIGHT; i++) {
            v[i] = vector_or_lowest(x_body, first + i * BLOCK, vectors);
        }
#pragma unroll
        for (int i = 0; i < IN_FLIGHT; i++) {
            int at = first + i * BLOCK;
            if (at >= vectors) continue;
            float4 p = scale4(exp4(v[i], row_max), scale);
            float* to = y_row + head + 4 * at;
            if (y_is_aligned) {
                store4(to, p);
            } else {
                to[0] = p.x, to[1] = p.y, to[2] = p.z, to[3] = p.w;
            }
        }
    }
}
