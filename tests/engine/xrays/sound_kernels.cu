// Kernels with nothing wrong in them, and much that looks as if: an x-ray must find no hazard. Launched as those of
// broken_kernels.cu are, where those stand that are sound by one thing alone.

// ---- reductions

KERNEL(tree_whose_end_is_one_warps) {
    __shared__ float s[128];
    s[threadIdx.x] = x[threadIdx.x];
    __syncthreads();
    if (threadIdx.x < 64) s[threadIdx.x] += s[threadIdx.x + 64];
    __syncthreads();
    if (threadIdx.x < 32) {
        float v = s[threadIdx.x] + s[threadIdx.x + 32];
        for (int d = 16; d > 0; d /= 2) {
            s[threadIdx.x] = v;
            __syncwarp();
            v += s[threadIdx.x ^ d];
            __syncwarp();
        }
        y[blockIdx.x * cols + threadIdx.x] = v;
    }
}
KERNEL(shuffle_down_past_the_last_lane) {
    float v = x[threadIdx.x];
    y[blockIdx.x * cols + threadIdx.x] = v + __shfl_down_sync(0xffffffff, v, 16);
}

// ---- shared memory

KERNEL(bytes_and_then_words_behind_a_barrier) {
    __shared__ alignas(4) unsigned char bytes[128];
    bytes[threadIdx.x] = threadIdx.x;
    __syncthreads();
    y[blockIdx.x * cols + threadIdx.x] = ((unsigned*)bytes)[threadIdx.x / 4];
}

// ---- warps

KERNEL(both_halves_with_masks_of_their_own) {
    float v = x[threadIdx.x];
    if (threadIdx.x % 32 < 16) v += __shfl_xor_sync(0x0000ffff, v, 8);
    else v -= __shfl_xor_sync(0xffff0000, v, 8);
    y[blockIdx.x * cols + threadIdx.x] = v;
}
KERNEL(mask_of_the_lanes_that_have_columns) {  // cols 100
    unsigned lanes = __ballot_sync(0xffffffff, threadIdx.x < cols);
    if (threadIdx.x >= cols) return;
    y[blockIdx.x * cols + threadIdx.x] = __shfl_sync(lanes, x[threadIdx.x], 0);
}
KERNEL(full_mask_behind_lanes_that_have_left) {
    if (threadIdx.x % 32 >= 20) { y[blockIdx.x * cols + threadIdx.x] = 0; return; }
    y[blockIdx.x * cols + threadIdx.x] = __shfl_xor_sync(0xffffffff, x[threadIdx.x], 1) + __any_sync(0xffffffff, 1);
}
KERNEL(values_of_absent_lanes_are_of_no_use) {  // cols 100
    unsigned lanes = __ballot_sync(0xffffffff, threadIdx.x < cols);
    if (threadIdx.x >= cols) return;
    float v = x[threadIdx.x];
    for (int d = 16; d > 0; d /= 2) {
        float other = __shfl_down_sync(lanes, v, d);
        if (threadIdx.x % 32 + d < 32 && threadIdx.x + d < cols) v += other;
    }
    if (threadIdx.x % 32 == 0) y[blockIdx.x * cols + threadIdx.x] = v;
}

// ---- blocks

DEVICE(int arrived;)
KERNEL(last_block_adds_up) {
    __shared__ bool is_last;
    if (threadIdx.x == 0) {
        y[blockIdx.x] = x[blockIdx.x];
        __threadfence();
        is_last = atomicAdd(&arrived, 1) == (int)gridDim.x - 1;
    }
    __syncthreads();
    if (is_last && threadIdx.x == 0) {
        __threadfence();
        float sum = 0;
        for (int i = 0; i < (int)gridDim.x; i++) sum += y[i];
        y[cols] = sum;
    }
}
DEVICE(int ready;)
KERNEL(flag_of_an_earlier_block_with_fences) {
    if (threadIdx.x) return;
    if (blockIdx.x == 0) {
        y[0] = x[0];
        __threadfence();
        *(volatile int*)&ready = 1;
    } else {
        while (*(volatile int*)&ready == 0) { }
        __threadfence();
        y[blockIdx.x] = y[0];
    }
}
KERNEL(barriers_of_both_branches_on_one_line) {  // synccheck is wrong: a GPU counts who arrives, wherever
    if (threadIdx.x < 64) __syncthreads(); else __syncthreads();
}
KERNEL(race_that_is_meant) {
    if (threadIdx.x % 32 == 0) y[0] = threadIdx.x;  // race: intended
}
KERNEL(compare_and_swap_behind_a_plain_read) {
    int* at = (int*)(y + blockIdx.x);
    if (threadIdx.x == 0) *at = 0;
    __syncthreads();
    int old = *at, assumed;
    do {
        assumed = old;
        old = atomicCAS(at, assumed, __float_as_int(fmaxf(x[threadIdx.x], __int_as_float(assumed))));
    } while (assumed != old);
}
DEVICE(unsigned lock;)
KERNEL(a_lock_of_one_thread_a_block) {
    if (threadIdx.x) return;
    while (atomicCAS(&lock, 0u, 1u) != 0u) { }
    __threadfence();
    y[blockIdx.x] = x[blockIdx.x];
    __threadfence();
    atomicExch(&lock, 0u);
}
KERNEL(sum_of_each_block_by_atomics_of_a_block) {
    float* sum = y + blockIdx.x * cols;
    if (threadIdx.x == 0) *sum = 0;
    __threadfence_block();
    __syncthreads();
    atomicAdd_block(sum, x[threadIdx.x]);
    __syncthreads();
    y[blockIdx.x * cols + threadIdx.x + 1] = *sum;
}

// ---- a thread's own variables

KERNEL(scalar_set_in_the_first_round) {
    float first;
    for (int i = 0; i < 3; i++) {
        if (i == 0) first = x[threadIdx.x];
        y[blockIdx.x * cols + threadIdx.x + 128 * i] = first * i;
    }
}
KERNEL(out_parameter) {
    float sine, cosine;
    sincosf(x[threadIdx.x], &sine, &cosine);
    y[blockIdx.x * cols + threadIdx.x] = sine + cosine;
}
KERNEL(bytes_and_shorts_of_any_value) {
    unsigned char bytes[6];
    short shorts[6];
    for (int i = 0; i < 6; i++) bytes[i] = i % 2 ? 0xa5 : 0xff;
    for (int i = 0; i < 6; i++) shorts[i] = i % 2 ? -91 : (short)0xa5a5;
    y[blockIdx.x * cols + threadIdx.x] = bytes[threadIdx.x % 6] + shorts[threadIdx.x % 5];
}
DEVICE(struct Shape { __device__ virtual int of(int n) const { return n; } }; struct Square : Shape { __device__ int of(int n) const override { return n * n; } };)
KERNEL(what_lies_in_a_library_and_is_read) {
    static const float table[4] = {1, 2, 3, 4};
    static int atomic_count;
    const char* words[2] = {"one", "two"};
    Square square;
    const Shape& shape = square;
    y[blockIdx.x * cols + threadIdx.x] = table[threadIdx.x % 4] + words[threadIdx.x % 2][1] + shape.of(atomicAdd(&atomic_count, 1));
}
KERNEL(zeros_and_copies_by_one_thread) {
    __shared__ float s[128], t[128];
    if (threadIdx.x == 0) memset(s, 0, sizeof s), memcpy(t, x, cols);
    __syncthreads();
    float mine[4];
    memcpy(mine, x + 1, sizeof mine);
    y[blockIdx.x * cols + threadIdx.x] = s[threadIdx.x] + t[threadIdx.x] + mine[threadIdx.x % 4];
}
KERNEL(rows_taken_for_one) {
    __shared__ float tile[4][32];
    tile[0][threadIdx.x] = x[threadIdx.x];
    struct { float rows[2][4]; } own;
    for (int i = 0; i < 8; i++) own.rows[0][i] = i;
    __syncthreads();
    y[blockIdx.x * cols + threadIdx.x] = tile[0][127 - threadIdx.x] + own.rows[0][threadIdx.x % 8];
}
KERNEL(end_of_an_own_array) {
    float own[8], sum = 0;
    for (float* at = own; at < own + 8; at++) *at = 1;
    for (const float* at = own; at != &own[8]; ++at) sum += *at;
    y[blockIdx.x * cols + threadIdx.x] = sum;
}
DEVICE(int mixed(int a) { a = (a + 0x7ed55d16) + (a << 12); a = (a ^ 0x3d4d51cb) + (a << 5); return a; })
KERNEL(hashes_of_ints) {
    constexpr int PRIME = 16777619;
    int hash = 17, seed = threadIdx.x;
    for (int i = 0; i < 20; i++) hash = hash * 33 + i;
    for (int i = 0; i < 20; i++) seed = seed * 1103515245 + 12345;
    int spread = (cols + 1000) * PRIME;
    y[blockIdx.x * cols + ((hash ^ seed ^ spread ^ mixed(cols)) & 127)] = 1;
}
