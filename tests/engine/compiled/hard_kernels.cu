// Kernels that are hard to count: their machine code asks of memory what their text does not say, or their warps part.
// hard_launches.py reads this file; hard_on_gpu.py records what a GPU counts and computes.
//
// Kernels are parted by blank lines. Comment lines say what is hard; then stand the kernel's own includes, variables and
// functions. KERNEL(name) is `extern "C" __global__ void name(const float* x, float* y, int rows, int cols)`,
// RESTRICTED(name) has pointers that are __restrict__, BOUNDED(name, ...) has those __launch_bounds__. With `// i` or
// `// i, lane` behind its head a body begins by `int i = blockIdx.x * blockDim.x + threadIdx.x`, and `lane = threadIdx.x % 32`.
// A line `//: ...` says what differs from `grid 2 block 128 rows 4 cols 512 x 4096 y 4096`, axes as in 4x2x1, and
//   zeros        y begins as zeros, not as bits that are all one
//   approx       y has the last bits of what the GPU approximates
//   needs N      from sm_N on: for who reads it
//   no emulator  it has something that the emulator refuses
// SHARED(name, index, who) are three kernels, shared_name_4, _8 and _16: the lanes of one warp for which `who` holds store
// and load as many bytes of shared memory at `index`, each once.

// ---- loops

// trip counts of 3 to 63 differ by lane, so an unrolled loop's remainder does too
KERNEL(sum_of_trips_by_lane) {  // i, lane
    int trips = 3 + lane * 7 % 61;
    float sum = 0;
    for (int j = 0; j < trips; j++) sum += x[j * 32 + lane];
    y[i] = sum;
}

// how often a lane turns is read from memory
KERNEL(trips_from_memory) {  // i
    int trips = 3 + (int)fabsf(x[i]) % 61;
    float sum = 0;
    for (int j = 0; j < trips; j++) sum = fmaf(x[i + j], 0.5f, sum);
    y[i] = sum;
}

// reads and writes of a row that begins off a sector, with pointers that cannot overlap
//: grid 4 cols 509 block 96
RESTRICTED(ragged_copy) {
    for (int c = threadIdx.x; c < cols; c += blockDim.x) y[blockIdx.x * cols + c] = 2 * x[blockIdx.x * cols + c] + 1;
}

// unrolled by seven, with a remainder that differs by lane
RESTRICTED(unrolled_by_seven) {  // i, lane
    int trips = 5 + lane * 3 % 40;
    float sum = 0;
#pragma unroll 7
    for (int j = 0; j < trips; j++) sum += x[j * 64 + i % 64] * j;
    y[i] = sum;
}

// rolled: a branch back for every turn, and lanes that leave one by one
KERNEL(lanes_leave_one_by_one) {  // i, lane
    float v = x[i];
    int j = 0;
#pragma unroll 1
    while (true) {
        if (j >= lane) break;
        v += x[j++];
    }
    y[i] = v;
}

// continue and break at lanes' own places
KERNEL(continue_and_break) {  // i
    float sum = 0;
    for (int j = 0; j < 40; j++) {
        float v = x[i + j * 16];
        if (v < -100) continue;
        if (v > 200) break;
        sum += v;
        if (v > 50) sum += x[i % 64 + j];
    }
    y[i] = sum;
}

// a loop whose end is checked in its middle, with a load on either side
KERNEL(end_in_the_middle) {  // i, lane
    float sum = 0;
    for (int j = lane;; j += 17) {
        sum += x[j];
        if (j > 200 + lane * 3) break;
        sum -= x[j + 512];
    }
    y[i] = sum;
}

// sixteen, eight and four at once: the cascade of an unrolled reduction, whose trips are known to no one
//: block 96 rows 37
KERNEL(cascade) {  // i
    float top = -INFINITY, sum = 0;
    for (int j = 0; j < rows; j++) top = fmaxf(top, x[i + j * 96]);
    for (int j = 0; j < rows - threadIdx.x / 32; j++) sum += x[i + j * 96] * top;
    y[i] = sum;
}

// ---- loads that become others

// two of a vector's four floats are used, so fewer bytes may be read
RESTRICTED(half_of_a_float4) {  // i
    float4 v = ((const float4*)x)[i];
    y[i] = v.x + v.y;
}

// members of an aligned structure that are read one by one become one load
struct __align__(16) Four { float a, b, c, d; };
RESTRICTED(members_one_by_one) {  // i
    const Four* four = (const Four*)x;
    float sum = four[i].a;
    sum += four[i].b;
    if (sum > 0) sum += four[i].c;
    sum += four[i].d;
    y[i] = sum;
}

// stores of an aligned structure's members become one store
struct __align__(8) Two { float a, b; };
RESTRICTED(members_stored_one_by_one) {  // i
    Two* two = (Two*)y;
    two[i].a = x[i] + 1;
    two[i].b = x[i + 1] - 1;
}

// neighbours in shared memory become one wide load
//: cols 128
KERNEL(shared_neighbours) {
    __shared__ float s[520];
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    for (int j = threadIdx.x; j < 520; j += blockDim.x) s[j] = x[j];
    __syncthreads();
    int at = threadIdx.x * 4;
    y[i] = s[at] - s[at + 1] * s[at + 2] + s[at + 3] - s[at + 4];
}

// stores to neighbours in shared memory become one wide store
KERNEL(shared_neighbours_stored) {
    __shared__ float s[256];
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    s[threadIdx.x * 2] = x[i];
    s[threadIdx.x * 2 + 1] = x[i + 1];
    __syncthreads();
    y[i] = s[255 - threadIdx.x] + s[threadIdx.x];
}

// a load of shared memory sinks below a branch that whole warps skip
//: cols 70
KERNEL(load_sinks_below_a_branch) {
    __shared__ float s[4];
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (threadIdx.x < 4) s[threadIdx.x] = x[threadIdx.x];
    __syncthreads();
    float first = s[0];
    for (int c = threadIdx.x; c < cols; c += blockDim.x) y[blockIdx.x * 128 + c] = x[i] * first;
}

// a small branch becomes a select, or a load with a predicate
KERNEL(branch_becomes_a_select) {  // i
    float a = x[i], b = 1;
    if (a > 0) b = a * 2;
    if (a < -50) b += x[i + 64];
    y[i] = b;
}

// one of two addresses: a select, and one load
KERNEL(one_of_two_addresses) {  // i
    float v = x[i] > 10 ? x[i + 128] : x[i + 1024];
    y[i] = v;
}

// a store that no lane of some warps takes part in
KERNEL(stores_of_few) {  // i
    float v = x[i];
    y[i] = 0;
    if (v > 220) y[i] = v;
    if (v == 12345) y[i + 1] = v;
}

// the same element is read again after a store that may have changed it
KERNEL(overlap_is_possible) {  // i
    float v = x[i % 64];
    y[i] = v;
    y[i] = v + x[i % 64] + x[i % 32];
}

// reads of the same line by all lanes, by pairs, and backwards
RESTRICTED(reads_in_many_orders) {  // i, lane
    y[i] = x[5] + x[i / 2] + x[511 - i] + x[lane * 33] + x[lane % 3 * 8 + 7];
}

// ---- one and two bytes

// four bytes share a word of a bank
KERNEL(shared_bytes) {
    __shared__ unsigned char s[512];
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    for (int j = threadIdx.x; j < 512; j += 128) s[j] = (int)x[j] & 255;
    __syncthreads();
    y[i] = s[threadIdx.x] + s[threadIdx.x * 4] + s[(threadIdx.x * 3 + 1) % 512];
}

// bytes of global memory: a warp's lie in one sector, or in two when they begin off it
KERNEL(global_bytes) {  // i
    const signed char* bytes = (const signed char*)x;
    signed char* out = (signed char*)(y + 1024);
    y[i] = bytes[i] + bytes[i + 5] * bytes[i * 4 + 3];
    out[i + 3] = bytes[i + 1] + 1;
}

// two lanes of three store two bytes, so words are written in part
KERNEL(shorts_stored_in_part) {
    __shared__ unsigned short s[256];
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    ((unsigned*)s)[threadIdx.x] = 7;
    __syncthreads();
    if (threadIdx.x % 3) s[threadIdx.x * 2 + threadIdx.x % 2] = threadIdx.x;
    __syncthreads();
    y[i] = s[threadIdx.x] * 1000 + s[255 - threadIdx.x];
}

// ---- arrays of a thread's own

// bytes in local memory: four of a lane's share a word
KERNEL(local_chars_by_lane) {  // i, lane
    signed char own[40];
    for (int j = 0; j < 40; j++) own[j] = (signed char)((int)x[i + j] & 127);
    own[lane] += 3;
    y[i] = own[lane * 3 % 40] + own[(lane + cols) % 40] * own[rows];
}

// two bytes in local memory, by few lanes
KERNEL(local_shorts_of_few_lanes) {  // i, lane
    short own[40];
    for (int j = 0; j < 40; j++) own[j] = (short)x[i + j];
    if (lane % 5 == 0) own[lane + rows] = (short)i;
    float v = 0;
    if (lane < 7) v = own[(lane * lane) % 40];
    y[i] = v + own[rows * 2];
}

// sixteen bytes in local memory, at one index and by lane
KERNEL(local_float4_by_lane) {  // i, lane
    float4 own[20];
#pragma unroll 1
    for (int j = 0; j < 20; j++) own[j] = make_float4(x[i + j], x[i + j + 64], j, i);
    float4 v = own[lane % 20], w = own[rows];
    if (lane & 1) own[cols % 20] = v;
    y[i] = v.x * w.y + v.z - w.w + own[(lane + rows) % 20].x;
}

// a vector of registers that is indexed as an array
RESTRICTED(registers_indexed) {  // i, lane
    float4 v = ((const float4*)x)[i];
    float own[4] = {v.x, v.y, v.z, v.w};
    y[i] = own[lane & 3] + own[(lane >> 2) & 3];
}

// more values than registers: they are spilled and filled again
//: block 1024 grid 1
BOUNDED(spills, 1024, 2) {
    float v[40];
#pragma unroll
    for (int j = 0; j < 40; j++) v[j] = x[threadIdx.x + j * 8];
    __syncthreads();
#pragma unroll
    for (int j = 0; j < 40; j++) v[j] = fmaf(v[j], v[(j * 7 + 3) % 40], v[(j * 11 + 5) % 40] > 0 ? 1.0f : -1.0f);
    float sum = 0;
#pragma unroll
    for (int j = 0; j < 40; j++) sum += v[j] * (j % 2 ? 1 : v[39 - j]);
    y[threadIdx.x] = sum;
}

// ---- atomics

// one address for all lanes, and no one wants what was there
//: zeros
KERNEL(atomic_add_to_one_address) {  // i
    atomicAdd((int*)y, 1);
    atomicAdd((int*)y + 40, (int)x[i]);
}

// an address of a lane's own
//: zeros
KERNEL(atomic_add_by_lane) {
    int lane = threadIdx.x % 32;
    atomicAdd((int*)y + lane, (int)x[threadIdx.x]);
    atomicAdd((int*)y + 64 + lane * 9, 2);
}

// what was there is wanted, at an address of the thread's own
//: zeros
KERNEL(atomic_add_is_read) {  // i
    int before = atomicAdd((int*)y + 512 + i, (int)x[i] + 7);
    y[i] = before + 1;
}

// one address, and what was there is the same for all: nothing is added
//: zeros
KERNEL(atomic_add_of_nothing_is_read) {  // i
    y[i + 64] = atomicAdd((int*)y, rows - 4) + 3;
}

// minima and maxima, signed and not, of some lanes
//: zeros
KERNEL(atomic_min_and_max) {  // i, lane
    int* out = (int*)y;
    atomicMax(out + lane % 4, (int)x[i]);
    if (lane & 1) atomicMin(out + 8 + lane, -(int)fabsf(x[i]));
    atomicMax((unsigned*)out + 64 + lane / 8, __float_as_uint(x[i]));
}

// and, or, exclusive or
//: zeros
KERNEL(atomic_bits) {  // i, lane
    unsigned* out = (unsigned*)y;
    atomicOr(out + lane % 3, 1u << lane);
    atomicXor(out + 8 + lane / 2, i * 77);
    atomicAnd(out + 64 + lane, i);
}

// exchange and compare-and-swap at an address of the thread's own
//: zeros
KERNEL(atomic_exchanges) {  // i
    int* out = (int*)y + 1024;
    int a = atomicExch(out + i, i + 5);
    int b = atomicCAS(out + i, i + 5, i * 2);
    int c = atomicCAS(out + i, i % 2 ? i * 2 : -1, 9);
    y[i] = a + b * 3 + c * 5;
}

// eight bytes, added and compared
//: zeros
KERNEL(atomic_of_64_bits) {  // i, lane
    unsigned long long* out = (unsigned long long*)y;
    atomicAdd(out + lane % 7, (unsigned long long)i << 30);
    atomicMax(out + 16 + lane / 4, (unsigned long long)i * 1000000007);
    y[1024 + i] = (float)atomicExch(out + 64 + i, 5ull);
}

// floats, one addition an address, and read
//: zeros
KERNEL(atomic_floats) {  // i
    atomicAdd(y + i, x[i]);
    y[i + 1024] = atomicAdd(y + i + 512, x[i + 1]) + 1;
}

// counters that wrap around
//: zeros
KERNEL(atomic_increments) {
    int lane = threadIdx.x % 32;
    atomicInc((unsigned*)y + lane % 2, 6);
    atomicDec((unsigned*)y + 8 + lane % 4, 9);
}

// shared memory: all lanes add to one address
KERNEL(shared_atomic_one_address) {
    __shared__ int s[2];
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (threadIdx.x < 2) s[threadIdx.x] = 0;
    __syncthreads();
    atomicAdd(s, 1);
    atomicAdd(s + 1, (int)x[i]);
    __syncthreads();
    y[i] = s[0] + s[1];
}

// shared memory: lanes' own addresses, with and without conflicts of banks
KERNEL(shared_atomic_by_lane) {
    __shared__ int s[1024];
    int i = blockIdx.x * blockDim.x + threadIdx.x, lane = threadIdx.x % 32;
    for (int j = threadIdx.x; j < 1024; j += 128) s[j] = j;
    __syncthreads();
    atomicAdd(s + threadIdx.x, 5);
    atomicAdd(s + lane * 32, 2);
    atomicAdd(s + lane * 2 + 1, (int)x[i]);
    __syncthreads();
    y[i] = s[threadIdx.x] + s[threadIdx.x * 8];
}

// shared memory: extremes and bits
KERNEL(shared_atomic_extremes_and_bits) {
    __shared__ int s[64];
    int i = blockIdx.x * blockDim.x + threadIdx.x, lane = threadIdx.x % 32;
    if (threadIdx.x < 64) s[threadIdx.x] = threadIdx.x;
    __syncthreads();
    atomicMax(s + lane % 4, (int)x[i]);
    atomicMin(s + 4 + lane % 8, (int)x[i]);
    atomicOr(s + 16 + lane / 4, 1 << lane);
    atomicAnd(s + 32, ~(1 << lane));
    atomicXor(s + 40 + lane % 3, i * 5);
    __syncthreads();
    y[i] = (float)(s[threadIdx.x % 64] & 0xffffff);
}

// shared memory: exchange and compare-and-swap
KERNEL(shared_atomic_exchanges) {
    __shared__ int s[128];
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    s[threadIdx.x] = i;
    __syncthreads();
    int a = atomicExch(s + (threadIdx.x * 5 + 1) % 128, 4);
    int b = atomicCAS(s + (threadIdx.x * 5 + 1) % 128, threadIdx.x % 2 ? 4 : 9, a + 1);
    __syncthreads();
    y[i] = s[threadIdx.x] * 3 + a + b;
}

// shared memory: eight bytes
KERNEL(shared_atomic_64_bits) {
    __shared__ unsigned long long s[32];
    int i = blockIdx.x * blockDim.x + threadIdx.x, lane = threadIdx.x % 32;
    if (threadIdx.x < 32) s[threadIdx.x] = threadIdx.x;
    __syncthreads();
    atomicAdd(s + lane % 9, 1ull << lane);
    atomicAdd(s + lane, 3ull);
    __syncthreads();
    y[i] = (float)(unsigned)(s[lane] >> 7);
}

// shared memory: floats, which are added in a loop of compare-and-swap; a sum of small integers has no order
KERNEL(shared_atomic_floats) {
    __shared__ float s[32];
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (threadIdx.x < 32) s[threadIdx.x] = 0;
    __syncthreads();
    atomicAdd(s + threadIdx.x % 32, (float)(int)x[i]);
    __syncthreads();
    y[i] = s[threadIdx.x % 32];
}

// ---- copies from global to shared memory without registers

// sixteen bytes, by way of the first cache and past it, in two groups
#define COPY(to, from, bytes, how) \
    asm volatile("cp.async." how ".shared.global [%0], [%1], " bytes ";" ::"r"((unsigned)__cvta_generic_to_shared(to)), "l"(from) : "memory")
//: needs 80 no emulator
KERNEL(async_16_bytes) {
    __shared__ __align__(16) float s[1024];
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    COPY(s + threadIdx.x * 4, x + i * 4, "16", "ca");
    asm volatile("cp.async.commit_group;" ::: "memory");
    COPY(s + 512 + threadIdx.x * 4, x + 1024 + i * 4 + 4, "16", "cg");
    asm volatile("cp.async.commit_group;\ncp.async.wait_group 1;" ::: "memory");
    __syncthreads();
    float v = s[511 - threadIdx.x];
    asm volatile("cp.async.wait_group 0;" ::: "memory");
    __syncthreads();
    y[i] = v + s[512 + threadIdx.x * 3];
}

// sixteen bytes by way of the first cache, each row off a sector
#define COPY(to, from, bytes, how) \
    asm volatile("cp.async." how ".shared.global [%0], [%1], " bytes ";" ::"r"((unsigned)__cvta_generic_to_shared(to)), "l"(from) : "memory")
//: needs 80 no emulator
KERNEL(async_16_bytes_off_a_sector) {
    __shared__ __align__(16) float s[512];
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    COPY(s + threadIdx.x * 4, x + i * 4 + 4, "16", "ca");
    asm volatile("cp.async.wait_all;" ::: "memory");
    __syncthreads();
    y[i] = s[511 - threadIdx.x];
}

// eight bytes off a sector, and four in an order of their own
#define COPY(to, from, bytes, how) \
    asm volatile("cp.async." how ".shared.global [%0], [%1], " bytes ";" ::"r"((unsigned)__cvta_generic_to_shared(to)), "l"(from) : "memory")
//: needs 80 no emulator
KERNEL(async_8_bytes_off_a_sector) {
    __shared__ __align__(16) float s[512];
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    COPY(s + threadIdx.x * 2, x + i * 2 + 2, "8", "ca");
    COPY(s + 256 + threadIdx.x, x + 1024 + (i ^ 21) * 3, "4", "ca");
    asm volatile("cp.async.wait_all;" ::: "memory");
    __syncthreads();
    y[i] = s[255 - threadIdx.x] + s[256 + threadIdx.x];
}

// votes and a shuffle under a mask that is known only when it runs, of a warp of twenty lanes
//: block 52
KERNEL(masks_known_at_run_time) {  // i
    unsigned mask = __ballot_sync(threadIdx.x < 32 ? 0xffffffff : 0xfffff, x[i] > -1000.0f);
    float v = __shfl_xor_sync(mask, x[i], 1) + __popc(__ballot_sync(mask, x[i] > 3));
    y[i] = v + __any_sync(mask, x[i] > 250);
}

// the first bytes of sixteen; the others become zeros
#define COPY_PART(to, from, there) \
    asm volatile("cp.async.ca.shared.global [%0], [%1], 16, %2;" ::"r"((unsigned)__cvta_generic_to_shared(to)), "l"(from), "r"(there) : "memory")
//: needs 80 no emulator
KERNEL(async_part_of_16_bytes) {
    __shared__ __align__(16) float s[512];
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    COPY_PART(s + threadIdx.x * 4, x + i * 4, (int)(threadIdx.x % 5 * 4));
    asm volatile("cp.async.wait_all;" ::: "memory");
    __syncthreads();
    y[i] = s[511 - threadIdx.x] + s[threadIdx.x * 4 + 3];
}

// ---- warps that part

// branches within branches, each with loads of its own
KERNEL(nested_ifs) {  // i, lane
    float v = x[i];
    if (lane & 1) {
        v += x[i + 32];
        if (lane & 2) {
            v *= x[i + 64];
            if (v > 0) v -= x[i + 96];
        } else
            v = fmaxf(v, x[lane]);
    } else if (lane > 20) {
        v -= x[lane * 3];
    }
    y[i] = v;
}

// lanes return early, at two places
KERNEL(early_returns) {  // i, lane
    y[i] = 1;
    if (lane % 3 == 0) return;
    float v = x[i];
    if (v < 0) return;
    y[i] = v * x[i + 64];
}

// cases that fall through, chosen by memory
KERNEL(cases_that_fall_through) {  // i
    float v = x[i];
    switch ((int)fabsf(v) % 9) {
        case 0: v += x[i + 1];
        case 1: v -= x[i + 2];
        case 2: v *= 2; break;
        case 3: v += x[i + 64];
        case 4: v -= x[i % 16]; break;
        case 5: v = 9;
        case 6: v += 0.5f;
        case 7: v *= x[i % 4 + 77]; break;
        case 8: v = -v;
    }
    y[i] = v;
}

// a machine of states: a jump by a table in a loop
KERNEL(states_in_a_loop) {  // i
    int state = i % 8, turns = 0;
    float v = x[i];
    while (state != 8 && turns < 30) {
        turns++;
        switch (state) {
            case 0: v += 1; state = v > 0 ? 3 : 1; break;
            case 1: v = -v; state = 2; break;
            case 2: v = v * 0.5f; state = turns % 3 + 3; break;
            case 3: v -= x[turns]; state = 5; break;
            case 4: v += x[i + turns]; state = 6; break;
            case 5: v = fmaxf(v, -20.0f); state = 7; break;
            case 6: v = fminf(v, 20.0f); state = turns % 2 ? 8 : 0; break;
            case 7: v += turns; state = turns > 9 + i % 5 ? 8 : 4; break;
        }
    }
    y[i] = v * turns;
}

// a function that is not inlined, called by some lanes, from two places
__device__ __noinline__ float far_away(const float* x, int i, float v) {
    return v > 0 ? x[i] * v : x[i + 1] + v;
}
KERNEL(call_of_some_lanes) {  // i, lane
    float v = x[i];
    if (lane % 3) v = far_away(x, i, v);
    if (v < 20) v += far_away(x, lane, v + 1);
    y[i] = v;
}

// a function that calls itself, as deep as the lane says
__device__ __noinline__ int depths(const float* x, int n) {
    if (n <= 1) return (int)x[n & 1];
    return depths(x, n - 1) + (n & 2 ? depths(x, n - 3) : n);
}
//: grid 1 block 64
KERNEL(recursion) {  // i
    y[i] = depths(x, i % 10);
}

// a function chosen by a pointer
__device__ __noinline__ float one_way(float v) { return v + 1; }
__device__ __noinline__ float another(float v) { return v * 2; }
__device__ __noinline__ float a_third(float v) { return -v; }
KERNEL(function_by_a_pointer) {  // i
    float (*way)(float) = i % 3 == 0 ? one_way : i % 3 == 1 ? another : a_third;
    y[i] = way(x[i]);
}

// a jump forward into what others do
KERNEL(jumps) {  // i
    float v = x[i];
    if (v > 100) goto big;
    v += x[i + 1];
    if (v < -100) goto small;
    v *= 2;
big:
    v -= x[i + 2];
small:
    y[i] = v;
}

// lanes meet in parts of a warp
KERNEL(halves_meet) {
    __shared__ float s[128];
    int i = blockIdx.x * blockDim.x + threadIdx.x, lane = threadIdx.x % 32;
    s[threadIdx.x] = x[i];
    __syncwarp();
    if (lane < 16) {
        float v = s[threadIdx.x ^ 5];
        __syncwarp(0xffff);
        s[threadIdx.x] = v * 2;
        __syncwarp(0xffff);
        v = s[threadIdx.x ^ 3];
        y[i] = v;
    } else {
        y[i] = s[threadIdx.x ^ 15] + x[i + 16];
    }
}

// ---- blocks and grids of other shapes

// a warp and a lane, whose shuffle has one lane
//: block 33 grid 5
KERNEL(block_of_33) {  // i
    float v = x[i];
    v += __shfl_xor_sync(threadIdx.x < 32 ? 0xffffffff : 1, v, 1, threadIdx.x < 32 ? 32 : 1);
    y[i] = v;
}

// one thread
//: block 1 grid 7
KERNEL(block_of_one) {
    float sum = 0;
    for (int c = 0; c < 37; c++) sum += x[blockIdx.x * 37 + c];
    y[blockIdx.x] = sum;
}

// three axes of either
//: block 5x4x3 grid 2x3x2
KERNEL(three_axes) {
    int thread = threadIdx.x + blockDim.x * (threadIdx.y + blockDim.y * threadIdx.z);
    int block = blockIdx.x + gridDim.x * (blockIdx.y + gridDim.y * blockIdx.z);
    y[block * 60 + thread] = x[thread * 12 + block] + threadIdx.z - blockIdx.z;
}

// ---- lanes of a warp tell each other

// all four shuffles
//: block 96
KERNEL(four_shuffles) {  // i, lane
    float v = x[i];
    float a = __shfl_sync(0xffffffff, v, lane * 3 + 1), b = __shfl_up_sync(0xffffffff, v, 3);
    float c = __shfl_down_sync(0xffffffff, v, 5), d = __shfl_xor_sync(0xffffffff, v, 9);
    y[i] = a + b * 3 + c * 5 - d;
}

// a shuffle of some lanes
KERNEL(shuffle_of_some_lanes) {  // i, lane
    float v = x[i];
    unsigned who = __ballot_sync(0xffffffff, lane % 4 != 1);
    if (lane % 4 != 1) v += __shfl_sync(who, v, (lane & ~3) + 2);
    y[i] = v;
}

// what a branch's lanes are
KERNEL(active_lanes) {  // i
    unsigned who = 0;
    if (x[i] > 0) who = __activemask();
    y[i] = (float)__popc(who);
}

// lanes with the same value
KERNEL(matches) {  // i, lane
    int all = 0;
    unsigned some = __match_any_sync(0xffffffff, (int)x[i] % 4);
    unsigned same = __match_all_sync(0xffffffff, rows, &all);
    unsigned none = __match_any_sync(0xffffffff, (long long)(lane / 5));
    y[i] = (float)__popc(some) + (float)(none >> 9) + all + (float)(same & 1);
}

// a sum of a warp by shuffles and of a block by shared memory, in a block of three warps and a bit
//: block 112
KERNEL(block_sum) {
    __shared__ float partial[4];
    int i = blockIdx.x * blockDim.x + threadIdx.x, lane = threadIdx.x % 32;
    float v = x[i];
    unsigned who = __activemask();
    for (int d = 8; d > 0; d /= 2) v += __shfl_xor_sync(who, v, d);
    if (threadIdx.x < 96) v += __shfl_xor_sync(who, v, 16);
    if (lane == 0) partial[threadIdx.x / 32] = v;
    __syncthreads();
    y[i] = partial[0] + partial[1] + partial[2] + partial[3];
}

// ---- bounds of sectors

// eight bytes that begin off a sector and off a line
KERNEL(float2_off_a_sector) {  // i
    float2 v = ((const float2*)(x + 2))[i];
    ((float2*)(y + 6))[i] = make_float2(v.y, v.x + 1);
}

// rows of an odd length: four bytes until sixteen are allowed, and a rest
//: cols 509 rows 4 grid 4 block 64
KERNEL(float4_between_odd_ends) {
    const float* row = x + blockIdx.x * cols;
    float* out = y + blockIdx.x * cols;
    int first = (4 - blockIdx.x * cols % 4) % 4, fours = (cols - first) / 4;
    if (threadIdx.x < first) out[threadIdx.x] = row[threadIdx.x];
    for (int j = threadIdx.x; j < fours; j += blockDim.x) {
        float4 v = ((const float4*)(row + first))[j];
        ((float4*)(out + first))[j] = make_float4(v.x + 1, v.y, v.z, v.w * 2);
    }
    int c = first + fours * 4 + threadIdx.x;
    if (c < cols) out[c] = row[c];
}

// ---- generic pointers

// shared for some lanes of a warp, global for the others, read and written
KERNEL(shared_and_global_in_one_warp) {
    __shared__ float s[256];
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    s[threadIdx.x] = x[i];
    s[threadIdx.x + 128] = 0;
    __syncthreads();
    const float* from = threadIdx.x % 3 ? s + threadIdx.x : x + i * 2;
    float* to = x[i] > 0 ? s + 128 + threadIdx.x : y + 1024 + i;
    *to = *from + 1;
    __syncthreads();
    y[i] = s[threadIdx.x + 128];
}

// a function that does not know where its pointer points: own, shared, global
__device__ __noinline__ void add_up(float* to, const float* from, int n) {
    for (int j = 0; j < n; j++) *to += from[j];
}
KERNEL(pointers_of_a_call) {
    __shared__ float s[128];
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    s[threadIdx.x] = x[i];
    float own[4] = {1, 2, 3, x[i + 1]};
    __syncthreads();
    float sum = 0;
    add_up(&sum, own, 4);
    add_up(&sum, s + threadIdx.x % 64, threadIdx.x % 5);
    add_up(&sum, x + i, 3);
    y[i] = sum;
}

// ---- numbers

// 64 bits: products, quotients and rests, which are calls
KERNEL(quotients_of_64_bits) {  // i
    long long a = ((long long)__float_as_int(x[i]) << 17) + i, b = (int)x[i + 1] | 1;
    unsigned long long u = (unsigned long long)a, d = (unsigned)(i * 77 + 5);
    long long q = a / b + a % b;
    u = u / d ^ u % (d * d + 1);
    ((int*)y)[i * 2] = (int)(q ^ (q >> 32));
    ((int*)y)[i * 2 + 1] = (int)(u ^ (u >> 32));
}

// quotients and roots, rounded as IEEE 754 says: a fast course, and a call for what is out of range
KERNEL(quotients_and_roots) {  // i
    float a = x[i], b = x[i + 1] + 0.125f;
    float tiny = __int_as_float(i * 1000 + 1), huge = a * 1e36f;
    y[i] = a / b + sqrtf(fabsf(a)) + 1 / b;
    y[i + 512] = tiny / b + sqrtf(tiny);
    y[i + 1024] = huge / b * 1e-30f + huge / 1e30f;
}

// functions that the GPU approximates
//: approx grid 1 block 64 y 256
KERNEL(approximations) {  // i
    float a = x[i] * 0.03f, b = fabsf(a) + 0.25f;
    y[i] = expf(a) + __expf(a * 0.5f);
    y[i + 64] = logf(b) + __log2f(b) + rsqrtf(b);
    y[i + 128] = __fdividef(a, b) + tanhf(a) + exp2f(a);
    y[i + 192] = powf(b, 1.5f) + cbrtf(b);
}

// angles, some of them large: a small one is quick, a large one reads a table
//: approx grid 1 block 64 y 256
KERNEL(angles) {  // i
    float a = x[i] * 3.1f, big = x[i] * 12345.6f;
    y[i] = sinf(a);
    y[i + 64] = cosf(a) + __sinf(a * 0.01f);
    y[i + 128] = sinf(big);
    y[i + 192] = tanf(a * 0.01f) + atan2f(a, 2.0f);
}

// extremes of pairs, which have an instruction of their own from sm_80 on
#include <cuda_fp16.h>
//: needs 80
KERNEL(extremes_of_halves) {  // i
    __half2 a = __floats2half2_rn(x[i], x[i + 1]), b = __floats2half2_rn(x[i + 2], x[i + 3]);
    ((__half2*)y)[i] = __hmax2(__hmin2(a, b), __hfma2_relu(a, b, a));
}

// bfloat16, alone and in pairs
#include <cuda_bf16.h>
//: needs 80
KERNEL(bfloat16s) {  // i
    __nv_bfloat16 a = __float2bfloat16(x[i]), b = __float2bfloat16(x[i + 1]);
    __nv_bfloat162 c = __floats2bfloat162_rn(x[i + 2], x[i + 3]), d = __halves2bfloat162(a, b);
    d = __hfma2(c, d, __hadd2(c, d));
    ((__nv_bfloat162*)y)[i] = __hmax2(d, c);
    y[i + 512] = __bfloat162float(__hfma(a, b, a)) + __low2float(d);
}

// ---- kinds of loads and of memory

// loads that may not be left out or merged
KERNEL(volatile_loads) {  // i
    const volatile float* again = x;
    volatile float* out = y;
    float v = again[i] + again[i];
    out[i] = v;
    out[i] = v + again[i + 1];
}

// words on how a cache is used
KERNEL(words_to_caches) {  // i
    float v = __ldg(x + i) + __ldcs(x + i + 128) + __ldcg(x + i + 3) + __ldca(x + i * 2);
    float4 w = __ldg((const float4*)x + i);
    __stcs(y + i, v + w.y);
    __stcg(y + 1024 + i, v - w.z);
    __stwt(y + 2048 + i, w.x);
}

// constants at one index, and at the lane's own
__constant__ float table[40] = {1, 2, 4, 8, 16, 32, 64, 128, 3, 9, 27, 81, 5, 25, 125, 7, 49, 11, 121, 13};
KERNEL(constants) {  // i, lane
    y[i] = x[i] * table[rows] + table[lane] - table[(lane * 5 + cols) % 20] + table[blockIdx.x];
}

// variables of the device: a table, a number, and a place for each thread
__device__ const int squares[8] = {0, 1, 4, 9, 16, 25, 36, 49};
__device__ int offset = 17;
__device__ float scratch[256];
KERNEL(device_variables) {  // i
    scratch[i] = x[i] * squares[i % 8];
    y[i] = scratch[i] + offset + squares[(int)fabsf(x[i]) % 8];
}

// structures of 32 aligned bytes, by way of shared memory
struct __align__(16) Eight { float4 a, b; };
KERNEL(structures_of_32_bytes) {
    __shared__ Eight s[64];
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (threadIdx.x < 64) s[threadIdx.x] = ((const Eight*)x)[threadIdx.x];
    __syncthreads();
    Eight v = s[threadIdx.x / 2];
    y[i] = threadIdx.x % 2 ? v.a.x + v.b.y : v.a.w - v.b.z;
}

// ---- patterns of whole kernels

// a transposed tile: all lanes of a warp in one bank
//: block 32x8 grid 2
KERNEL(transposed_in_one_bank) {
    __shared__ float tile[32][32];
    for (int j = threadIdx.y; j < 32; j += 8) tile[j][threadIdx.x] = x[blockIdx.x * 1024 + j * 32 + threadIdx.x];
    __syncthreads();
    for (int j = threadIdx.y; j < 32; j += 8) y[blockIdx.x * 1024 + j * 32 + threadIdx.x] = tile[threadIdx.x][j];
}

// tiles of a product of matrices: broadcasts, and rows that merge to wide loads
//: block 16x16 grid 2x2
KERNEL(product_of_matrices) {
    __shared__ float a[16][16], b[16][16];
    int row = blockIdx.y * 16 + threadIdx.y, col = blockIdx.x * 16 + threadIdx.x;
    float sum = 0;
    for (int t = 0; t < 48; t += 16) {
        a[threadIdx.y][threadIdx.x] = x[row * 48 + t + threadIdx.x];
        b[threadIdx.y][threadIdx.x] = x[2000 + (t + threadIdx.y) * 32 + col];
        __syncthreads();
        for (int k = 0; k < 16; k++) sum += a[threadIdx.y][k] * b[k][threadIdx.x];
        __syncthreads();
    }
    y[row * 32 + col] = sum;
}

// ---- addresses of one warp in shared memory

SHARED(in_order, lane, true)
SHARED(backwards, 31 - lane, true)
SHARED(broadcast, 0, true)
SHARED(all_but_one_equal, lane == 9, true)
SHARED(equal_1_apart, lane & ~1, true)
SHARED(equal_2_apart, lane & ~2, true)
SHARED(equal_4_apart, lane & ~4, true)
SHARED(equal_8_apart, lane & ~8, true)
SHARED(equal_16_apart, lane & ~16, true)
SHARED(quarters_equal, lane % 8, true)
SHARED(alternating, lane % 2, true)
SHARED(four_in_turn, lane % 4, true)
SHARED(pairs_packed, lane / 2, true)
SHARED(pairs_shifted, (lane + 1) / 2, true)
SHARED(fours_packed, lane / 4, true)
SHARED(fours_shifted, (lane + 2) / 4, true)
SHARED(pairs_but_one, lane == 5 ? 5 : lane & ~1, true)
SHARED(pairs_in_the_lower_half, lane < 16 ? lane & ~1 : lane, true)
SHARED(pairs_in_the_first_quarter, lane < 8 ? lane & ~1 : lane, true)
SHARED(pairs_1_and_2_apart, lane & 4 ? lane & ~1 : lane & ~2, true)
SHARED(halves_1_and_2_apart, lane & 16 ? lane & ~1 : lane & ~2, true)
SHARED(pairs_1_apart_far, (lane & ~1) * 16, true)
SHARED(pairs_2_apart_far, (lane & ~2) * 16, true)
SHARED(neighbours_swapped, lane ^ 1, true)
SHARED(stride_2, lane * 2, true)
SHARED(stride_3, lane * 3, true)
SHARED(stride_4, lane * 4, true)
SHARED(stride_8, lane * 8, true)
SHARED(stride_16, lane * 16, true)
SHARED(stride_17, lane * 17, true)
SHARED(stride_32, lane * 32, true)
SHARED(stride_33, lane * 33, true)
SHARED(squares, (lane * lane * 7 + 3) % 64, true)
SHARED(two_to_a_bank, lane / 16 * 32 + lane % 16, true)
SHARED(of_even_lanes, lane, lane % 2 == 0)
SHARED(of_odd_lanes_in_pairs, lane & ~1, lane % 2 == 1)
SHARED(of_even_lanes_stride_8, lane * 8, lane % 2 == 0)
SHARED(of_two_lanes_of_four, lane, lane % 4 < 2)
SHARED(of_one_lane_of_four, lane, lane % 4 == 0)
SHARED(of_first_five, lane, lane < 5)
SHARED(of_one_lane, lane, lane == 13)
SHARED(of_lower_half, lane, lane < 16)
SHARED(of_upper_half, lane, lane >= 16)
SHARED(of_even_quarters, lane, lane % 16 < 8)
SHARED(of_two_thirds, lane, lane % 3 != 0)
SHARED(of_two_thirds_in_pairs, lane & ~1, lane % 3 != 0)
SHARED(of_even_lanes_but_one, lane, lane % 2 == 0 || lane == 7)
SHARED(of_one_of_each_pair, lane, (lane / 2 + lane) % 2 == 0)
