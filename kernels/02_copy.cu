// copy: y = x and nothing else, the reference for every kernel that reads and writes a matrix once.
//   x, y     (rows, cols) float32, row-major, 16-byte aligned
//   grid     one thread per 4 elements    block   any size
//   shared   none                         needs   rows * cols a multiple of 4
//   traffic  1 read + 1 write per element (the least)
//   next     what a softmax takes beyond this is what the ladder takes away -> 03_naive

extern "C" __global__ void copy_float4(const float* __restrict__ x, float* __restrict__ y,
                                       int rows, int cols) {
    long long vectors = (long long)rows * cols / 4;
    long long i = (long long)blockIdx.x * blockDim.x + threadIdx.x;
    if (i < vectors) reinterpret_cast<float4*>(y)[i] = reinterpret_cast<const float4*>(x)[i];
}
