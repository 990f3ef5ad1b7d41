// fusion: 07_float4 with the row kept in registers, and one barrier per row.
//   x, y     (rows, cols) float32, row-major; y may be x
//   grid     rows                 block   BLOCK threads, a power of two
//   shared   2 floats per warp    needs   cols <= BLOCK * PER_THREAD, any 4-byte aligned address
//   traffic  1 read + 1 write per element (the least)
//   next     nothing is moved twice; what is left is a few microseconds per launch -> results

#include "block_reduce.cuh"
#include "float4.cuh"

constexpr int VECTORS = PER_THREAD / 4;

// The exponential of the GPU itself: shorter than expf, and less exact in its last digits; so is
// __fdividef, its division.
__device__ float4 fast_exp4(float4 v, float shift) {
    return make_float4(__expf(v.x - shift), __expf(v.y - shift), __expf(v.z - shift),
                       __expf(v.w - shift));
}

// FULL: the row starts at 16 bytes and fills every register that is there for it, so that nothing has
// to be looked at twice. Any other row has up to 6 floats around its vectors, or too few of them.
template <bool FULL>
__device__ void softmax_row(const float* x_row, float* y_row, int cols) {
    __shared__ float2 pairs[WARPS];  // of each warp: its maximum, and its sum under that
    int tid = threadIdx.x, lane = tid % WARP, warp = tid / WARP;
    int head = FULL ? 0 : min(floats_to_boundary(x_row), cols);
    int vectors = FULL ? VECTORS * BLOCK : (cols - head) / 4;
    int edges = FULL ? 0 : cols - 4 * vectors;
    int edge = tid < head ? tid : 4 * vectors + tid;

    // 1. read: no load waits for what another one brings; what is not there is -inf
    float edge_value = tid < edges ? x_row[edge] : -INFINITY;
    float4 v[VECTORS];
#pragma unroll
    for (int i = 0; i < VECTORS; i++) {
        int at = tid + i * BLOCK;
        v[i] = FULL || at < vectors ? load4(x_row + head + 4 * at)
                                    : make_float4(-INFINITY, -INFINITY, -INFINITY, -INFINITY);
    }

    // 2. max, exp and sum of this warp's columns: nothing here waits for another warp
    float thread_max = fmaxf(-INFINITY, edge_value);
#pragma unroll
    for (int i = 0; i < VECTORS; i++) thread_max = fmaxf(thread_max, max4(v[i]));
    float top = warp_max(thread_max);
    // a warp that has seen nothing but -inf subtracts 0: -inf - -inf would be NaN
    float shift = top == -INFINITY ? 0.0f : top;
    edge_value = FULL ? 0.0f : __expf(edge_value - shift);
    float thread_sum = edge_value;
#pragma unroll
    for (int i = 0; i < VECTORS; i++) {
        v[i] = fast_exp4(v[i], shift);
        thread_sum += sum4(v[i]);
    }
    float total = warp_sum(thread_sum);

    // 3. the warps meet once; each merges all pairs (max, sum) by itself
    if (lane == 0) pairs[warp] = make_float2(top, total);
    __syncthreads();
    float2 other = lane < WARPS ? pairs[lane] : make_float2(-INFINITY, 0.0f);
    float row_max = warp_max(other.x);
    float row_sum = warp_sum(other.y * __expf(other.x - row_max));

    // 4. write, each value brought from its warp's maximum to the row's;
    //    a y that is aligned differently from x takes single floats
    float scale = __fdividef(__expf(top - row_max), row_sum);
    if (tid < edges) y_row[edge] = edge_value * scale;
    bool y_is_aligned = FULL || floats_to_boundary(y_row + head) == 0;
#pragma unroll
    for (int i = 0; i < VECTORS; i++) {
        int at = tid + i * BLOCK;
        if (!FULL && at >= vectors) continue;
        float4 p = scale4(v[i], scale);
        float* to = y_row + head + 4 * at;
        if (y_is_aligned) {
            store4(to, p);
        } else {
            to[0] = p.x, to[1] = p.y, to[2] = p.z, to[3] = p.w;
        }
    }
}

// No __restrict__: each block has read all of its row before it writes, so y may be x.
extern "C" __global__ void __launch_bounds__(BLOCK)
softmax_fusion(const float* x, float* y, int rows, int cols) {
    const float* x_row = x + (long long)blockIdx.x * cols;
    float* y_row = y + (long long)blockIdx.x * cols;
    bool aligned = floats_to_boundary(x_row) + floats_to_boundary(y_row) == 0;
    if (aligned && cols == BLOCK * PER_THREAD) {
        softmax_row<true>(x_row, y_row, cols);
    } else {
        softmax_row<false>(x_row, y_row, cols);
    }
}
