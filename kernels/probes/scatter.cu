// scatter: every warp of a block loads, or stores, 4 bytes per lane over LINES cache lines, again and again.
//   x        32 KiB per block, which stay in L1    spent   cycles of each block for `times` requests per warp
//   block    BLOCK threads

extern "C" __global__ void __launch_bounds__(BLOCK)
probe_scatter(float* x, long long* spent, int times) {
    int lane = threadIdx.x % WARP;
    // lanes of one line are neighbours; with 32 lines each lane has one to itself
    float* mine = x + blockIdx.x * 8192 + lane % LINES * 32 + lane / LINES;
    float total = 0.0f;
    __syncthreads();
    long long start = clock64();
#pragma unroll 8
    for (int i = 0; i < times; i++) {
        float* to = mine + (i % 8) * 1024;
#if STORES
        *(volatile float*)to = (float)i;
#else
        total += *(volatile float*)to;  // or the compiler would load each of the 8 places once
#endif
    }
    __syncthreads();
    if (threadIdx.x == 0) spent[blockIdx.x] = clock64() - start;
    if (total == 12345.678f) *x = total;
}
