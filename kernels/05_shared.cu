// shared: one block per row; threads meet in shared memory.
//   x, y     (rows, cols) float32, row-major
//   grid     rows          block   BLOCK threads, a power of two
//   shared   BLOCK floats  needs   any cols >= 1
//   traffic  2 reads + 1 write per element (least: 1 + 1)
//   next     every tree step costs a barrier -> 06_shuffle

extern "C" __global__ void softmax_shared(const float* __restrict__ x, float* __restrict__ y,
                                          int rows, int cols) {
    __shared__ float partial[BLOCK];
    int tid = threadIdx.x;
    const float* x_row = x + (long long)blockIdx.x * cols;
    float* y_row = y + (long long)blockIdx.x * cols;

    // 1. max and sum of this thread's columns; neighbours read neighbouring addresses
    float thread_max = -INFINITY, thread_sum = 0.0f;
    for (int col = tid; col < cols; col += blockDim.x) {
        float value = x_row[col];
        if (value > thread_max) {
            thread_sum *= expf(thread_max - value);
            thread_max = value;
        }
        if (value != -INFINITY) thread_sum += expf(value - thread_max);
    }

    // 2. max of the row: halve the number of values until one is left
    partial[tid] = thread_max;
    __syncthreads();
    for (int stride = blockDim.x / 2; stride > 0; stride /= 2) {
        if (tid < stride) partial[tid] = fmaxf(partial[tid], partial[tid + stride]);
        __syncthreads();
    }
    float row_max = partial[0];
    __syncthreads();  // everyone has read partial[0] before it is overwritten

    // 3. sum of the row: the same tree, once every thread's sum is under the row's maximum
    partial[tid] = thread_sum * expf(thread_max - row_max);
    __syncthreads();
    for (int stride = blockDim.x / 2; stride > 0; stride /= 2) {
        if (tid < stride) partial[tid] += partial[tid + stride];
        __syncthreads();
    }
    float scale = 1.0f / partial[0];

    // 4. write
    for (int col = tid; col < cols; col += blockDim.x) {
        y_row[col] = expf(x_row[col] - row_max) * scale;
    }
}
