// in_flight: reads an array with LOADS loads of WIDTH bytes per thread on their way at a time.
//   x        `count` values of WIDTH bytes    sink    is never written, which the compiler cannot know
//   grid     one block per multiprocessor     block   BLOCK threads

#if WIDTH == 16
typedef float4 Value;
__device__ float of(float4 v) { return v.x + v.y + v.z + v.w; }
#else
typedef float Value;
__device__ float of(float v) { return v; }
#endif

extern "C" __global__ void __launch_bounds__(BLOCK)
probe_in_flight(const Value* __restrict__ x, float* sink, int count) {
    float total = 0.0f;
    int threads = gridDim.x * BLOCK;
#pragma unroll 1
    for (int first = blockIdx.x * BLOCK + threadIdx.x; first < count; first += LOADS * threads) {
        Value v[LOADS];
#pragma unroll
        for (int i = 0; i < LOADS; i++) v[i] = x[min(first + i * threads, count - 1)];
#pragma unroll
        for (int i = 0; i < LOADS; i++) total += of(v[i]);
    }
    if (total == 12345.678f) *sink = total;
}
