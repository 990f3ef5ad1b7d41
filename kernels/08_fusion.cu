// fusion: 07_float4 with the row kept in registers between its one read and its one write.
//   x, y     (rows, cols) float32, row-major; y may be x
//   grid     rows               block   BLOCK threads, a power of two
//   shared   2 floats a warp    needs   cols <= BLOCK * PER_THREAD, any 4-byte aligned address
//   traffic  1 read + 1 write per element (least: 1 + 1)
//   next     nothing is moved twice; what is left is time in which nothing moves -> 09_unroll

#include "block_reduce.cuh"
#include "float4.cuh"

// The row stays in registers and not in shared memory, because that measured faster on an H200 at
// every length: shared memory costs two more trips of 16 bytes a vector between the phases, and a
// row of 32768 floats would not fit in the 64 KB that a block has on sm_75.
constexpr int VECTORS = PER_THREAD / 4;

// No __restrict__: each block has read all of its row before it writes, so y may be x.
extern "C" __global__ void __launch_bounds__(BLOCK)
softmax_fusion(const float* x, float* y, int rows, int cols) {
    __shared__ float maxima[WARPS], sums[WARPS];
    int tid = threadIdx.x;
    const float* x_row = x + (long long)blockIdx.x * cols;
    float* y_row = y + (long long)blockIdx.x * cols;

    int head = min(floats_to_boundary(x_row), cols);
    int vectors = (cols - head) / 4;
    int edges = cols - 4 * vectors;
    int edge = tid < head ? tid : 4 * vectors + tid;
    const float4* x_body = reinterpret_cast<const float4*>(x_row + head);

    // 1. read: all loads leave before the first value is needed; what is not there is -inf
    float edge_value = tid < edges ? x_row[edge] : -INFINITY;
    float4 v[VECTORS];
#pragma unroll
    for (int i = 0; i < VECTORS; i++) {
        int at = tid + i * BLOCK;
        v[i] = at < vectors ? x_body[at] : make_float4(-INFINITY, -INFINITY, -INFINITY, -INFINITY);
    }

    // 2. max
    float thread_max = fmaxf(-INFINITY, edge_value);
#pragma unroll
    for (int i = 0; i < VECTORS; i++) thread_max = fmaxf(thread_max, max4(v[i]));
    float row_max = block_max(thread_max, maxima);

    // 3. exp, once an element, in place; sum
    edge_value = expf(edge_value - row_max);
    float thread_sum = edge_value;
#pragma unroll
    for (int i = 0; i < VECTORS; i++) {
        v[i] = exp4(v[i], row_max);
        thread_sum += sum4(v[i]);
    }
    float scale = 1.0f / block_sum(thread_sum, sums);

    // 4. write; a y that is aligned otherwise than x takes single floats
    if (tid < edges) y_row[edge] = edge_value * scale;
    bool y_is_aligned = floats_to_boundary(y_row + head) == 0;
#pragma unroll
    for (int i = 0; i < VECTORS; i++) {
        int at = tid + i * BLOCK;
        if (at >= vectors) continue;
        float4 p = scale4(v[i], scale);
        float* to = y_row + head + 4 * at;
        if (y_is_aligned) {
            *reinterpret_cast<float4*>(to) = p;
        } else {
            to[0] = p.x, to[1] = p.y, to[2] = p.z, to[3] = p.w;
        }
    }
}
