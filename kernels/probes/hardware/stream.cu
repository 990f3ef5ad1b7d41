// stream: every block reads its piece of an array again and again, 16 bytes per lane.
//   x        gridDim.x * piece float4        sink     is never written, which the compiler cannot know
//   grid     one block per multiprocessor    block    BLOCK threads, each with LOADS loads on their way at a time
//   PLACE    0: from shared memory, which takes the piece first; 1: by way of L1; 2: past L1, from L2 or DRAM
//   needs    piece a multiple of BLOCK * LOADS, and with PLACE 0 exactly that

#if PLACE == 0
#define LOAD "ld.shared.v4.f32"
#elif PLACE == 1
#define LOAD "ld.global.ca.v4.f32"
#else
#define LOAD "ld.global.cg.v4.f32"
#endif

// volatile, or the compiler would read each place once
__device__ float4 load(const float4* from) {
    float4 v;
#if PLACE == 0
    unsigned at = (unsigned)__cvta_generic_to_shared(from);
    asm volatile(LOAD " {%0, %1, %2, %3}, [%4];" : "=f"(v.x), "=f"(v.y), "=f"(v.z), "=f"(v.w) : "r"(at));
#else
    asm volatile(LOAD " {%0, %1, %2, %3}, [%4];" : "=f"(v.x), "=f"(v.y), "=f"(v.z), "=f"(v.w) : "l"(from));
#endif
    return v;
}

extern "C" __global__ void __launch_bounds__(BLOCK)
probe_stream(const float4* x, float* sink, int piece, int times) {
    const float4* from = x + (long long)blockIdx.x * piece;
#if PLACE == 0
    __shared__ float4 mine[BLOCK * LOADS];
    for (int i = threadIdx.x; i < piece; i += BLOCK) mine[i] = from[i];
    __syncthreads();
    from = mine;
#endif
    float total = 0.0f;
    for (int time = 0; time < times; time++) {
#pragma unroll 1
        for (int i = threadIdx.x; i < piece; i += BLOCK * LOADS) {
            float4 v[LOADS];
#pragma unroll
            for (int k = 0; k < LOADS; k++) v[k] = load(from + i + k * BLOCK);
#pragma unroll
            for (int k = 0; k < LOADS; k++) total += v[k].x + v[k].y + v[k].z + v[k].w;
        }
    }
    if (total == 12345.678f) *sink = total;
}
