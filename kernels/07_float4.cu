// float4: 06_shuffle with 4 loads of 16 bytes in flight per thread.
//   x, y     (rows, cols) float32, row-major
//   grid     rows                 block   BLOCK threads, a multiple of WARP
//   shared   2 floats per warp    needs   any cols >= 1, any 4-byte aligned address
//   traffic  2 reads + 1 write per element (least: 1 + 1)
//   next     the row is read twice -> 08_fusion

#include "block_reduce.cuh"

constexpr int IN_FLIGHT = 4;  // vectors that a thread asks for before it uses the first

// How many floats lie before the next 16-byte boundary.
__device__ int floats_to_boundary(const float* address) {
    return (4 - (int)((unsigned long long)address / 4 % 4)) % 4;
}

__device__ float4 load4(const float* address) { return *reinterpret_cast<const float4*>(address); }

__device__ void store4(float* address, float4 v) { *reinterpret_cast<float4*>(address) = v; }

__device__ float4 fill4(float value) { return make_float4(value, value, value, value); }

__device__ float max4(float4 v) { return fmaxf(fmaxf(v.x, v.y), fmaxf(v.z, v.w)); }

__device__ float sum4(float4 v) { return (v.x + v.y) + (v.z + v.w); }

__device__ float4 exp4(float4 v, float shift) {
    return make_float4(expf(v.x - shift), expf(v.y - shift), expf(v.z - shift), expf(v.w - shift));
}

__device__ float4 scale4(float4 v, float scale) {
    return make_float4(v.x * scale, v.y * scale, v.z * scale, v.w * scale);
}

extern "C" __global__ void softmax_float4(const float* __restrict__ x, float* __restrict__ y,
                                          int rows, int cols) {
    __shared__ float maxima[WARPS], sums[WARPS];
    int tid = threadIdx.x;
    const float* x_row = x + (long long)blockIdx.x * cols;
    float* y_row = y + (long long)blockIdx.x * cols;

    // A row starts and ends anywhere, a float4 only at a multiple of 16 bytes: the aligned body
    // goes by vectors, and the at most 6 floats around it are one more element for a few threads.
    int head = min(floats_to_boundary(x_row), cols);
    int vectors = (cols - head) / 4;
    int edges = cols - 4 * vectors;
    int edge = tid < head ? tid : 4 * vectors + tid;
    const float* x_body = x_row + head;
    float4 v[IN_FLIGHT];

    // 1. max and sum of this thread's columns, rescaled once for all vectors in flight
    float thread_max = -INFINITY, thread_sum = 0.0f;
    if (tid < edges && x_row[edge] != -INFINITY) {
        thread_max = fmaxf(thread_max, x_row[edge]);
        thread_sum = expf(x_row[edge] - thread_max);
    }
    for (int first = tid; first < vectors; first += IN_FLIGHT * BLOCK) {
#pragma unroll
        for (int i = 0; i < IN_FLIGHT; i++) {  // what lies behind the end is -inf
            int at = first + i * BLOCK;
            v[i] = at < vectors ? load4(x_body + 4 * at) : fill4(-INFINITY);
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

    // 2. max of the row
    float row_max = block_max(thread_max, maxima);

    // 3. sum of the row
    float scale = 1.0f / block_sum(thread_sum * expf(thread_max - row_max), sums);

    // 4. write; a y that is aligned differently from x takes single floats
    if (tid < edges) y_row[edge] = expf(x_row[edge] - row_max) * scale;
    bool y_is_aligned = floats_to_boundary(y_row + head) == 0;
    for (int first = tid; first < vectors; first += IN_FLIGHT * BLOCK) {
#pragma unroll
        for (int i = 0; i < IN_FLIGHT; i++) {
            int at = first + i * BLOCK;
            v[i] = at < vectors ? load4(x_body + 4 * at) : fill4(-INFINITY);
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
