// places: each block notes which multiprocessor it got, when it began and when it ended; in between it stays.
//   found    (blocks, 3): multiprocessor, and the nanoseconds at which it began and ended
//   sink     is never written, which the compiler cannot know
//   block    BLOCK threads which use more registers the larger LIVE is, and SHARED_BYTES of shared memory
//   stay     nanoseconds

__device__ long long nanoseconds() {
    long long now;
    asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(now));
    return now;
}

extern "C" __global__ void __launch_bounds__(BLOCK)
probe_places(long long* found, float* sink, int stay) {
    __shared__ volatile float room[SHARED_BYTES / 4 + 1];
    room[0] = 1.0f;
    unsigned kept[LIVE + 1];
#pragma unroll
    for (int i = 0; i <= LIVE; i++) asm volatile("mov.u32 %0, %%clock;" : "=r"(kept[i]));
    if (threadIdx.x == 0) {
        unsigned multiprocessor;
        asm volatile("mov.u32 %0, %%smid;" : "=r"(multiprocessor));
        long long* mine = found + blockIdx.x * 3LL;
        mine[0] = multiprocessor;
        mine[1] = nanoseconds();
        while (nanoseconds() < mine[1] + stay) continue;
        mine[2] = nanoseconds();
    }
    __syncthreads();  // the others stay as long
    unsigned total = 0;
#pragma unroll
    for (int i = 0; i <= LIVE; i++) total ^= kept[i];
    if (total == 0xffffffffu) *sink = room[0];
}
