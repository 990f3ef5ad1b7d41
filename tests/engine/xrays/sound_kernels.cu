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
KERNEL(shuffles_and_one_partial_per_warp) {
    __shared__ float partial[4];
    float v = x[threadIdx.x];
    for (int d = 16; d > 0; d /= 2) v += __shfl_xor_sync(0xffffffff, v, d);
    if (threadIdx.x % 32 == 0) partial[threadIdx.x / 32] = v;
    __syncthreads();
    y[blockIdx.x * cols + threadIdx.x] = partial[0] + partial[1] + partial[2] + partial[3];
}
KERNEL(two_reductions_with_a_barrier_between) {
    __shared__ float partial[4];
    float v = x[threadIdx.x];
    for (int round = 0; round < 2; round++) {
        if (threadIdx.x % 32 == 0) partial[threadIdx.x / 32] = v;
        __syncthreads();
        v = partial[0] + partial[3];
        __syncthreads();
    }
    y[blockIdx.x * cols + threadIdx.x] = v;
}
KERNEL(reduction_of_segments_of_eight) {
    float v = x[threadIdx.x];
    for (int d = 4; d > 0; d /= 2) v += __shfl_down_sync(0xffffffff, v, d, 8);
    y[blockIdx.x * cols + threadIdx.x] = v;
}
KERNEL(shuffle_down_past_the_last_lane) {
    float v = x[threadIdx.x];
    y[blockIdx.x * cols + threadIdx.x] = v + __shfl_down_sync(0xffffffff, v, 16);
}
KERNEL(scan_of_a_warp) {
    float v = x[threadIdx.x];
    for (int d = 1; d < 32; d *= 2) {
        float below = __shfl_up_sync(0xffffffff, v, d);
        if (threadIdx.x % 32 >= d) v += below;
    }
    y[blockIdx.x * cols + threadIdx.x] = v;
}
KERNEL(scan_with_two_buffers) {
    __shared__ float s[2][128];
    s[0][threadIdx.x] = x[threadIdx.x];
    int now = 0;
    for (int d = 1; d < 128; d *= 2, now ^= 1) {
        __syncthreads();
        s[now ^ 1][threadIdx.x] = s[now][threadIdx.x] + (threadIdx.x >= d ? s[now][threadIdx.x - d] : 0);
    }
    __syncthreads();
    y[blockIdx.x * cols + threadIdx.x] = s[now][threadIdx.x];
}

// ---- shared memory

KERNEL(double_buffer_with_a_barrier_a_step) {
    __shared__ float s[2][128];
    float v = x[threadIdx.x];
    for (int step = 0; step < 5; step++) {
        s[step % 2][threadIdx.x] = v;
        __syncthreads();
        v += s[step % 2][127 - threadIdx.x];
    }
    y[blockIdx.x * cols + threadIdx.x] = v;
}
KERNEL(transpose_of_a_tile_with_padding) {
    __shared__ float tile[8][17];
    tile[threadIdx.x / 16][threadIdx.x % 16] = x[threadIdx.x];
    __syncthreads();
    y[blockIdx.x * cols + threadIdx.x] = tile[threadIdx.x % 8][threadIdx.x / 8];
}
KERNEL(bytes_and_then_words_behind_a_barrier) {
    __shared__ alignas(4) unsigned char bytes[128];
    bytes[threadIdx.x] = threadIdx.x;
    __syncthreads();
    y[blockIdx.x * cols + threadIdx.x] = ((unsigned*)bytes)[threadIdx.x / 4];
}
KERNEL(a_warps_own_row_of_a_tile) {
    __shared__ float tile[4][32];
    int warp = threadIdx.x / 32, lane = threadIdx.x % 32;
    tile[warp][lane] = x[threadIdx.x];
    __syncwarp();
    float v = tile[warp][31 - lane];
    __syncwarp();
    tile[warp][lane] = v;
    __syncwarp();
    y[blockIdx.x * cols + threadIdx.x] = tile[warp][(lane + 1) % 32];
}
KERNEL(reads_of_one_word_by_all) {
    __shared__ float s[32];
    if (threadIdx.x < 32) s[threadIdx.x] = x[threadIdx.x];
    __syncthreads();
    float sum = 0;
    for (int i = 0; i < 32; i++) sum += s[i];
    y[blockIdx.x * cols + threadIdx.x] = sum;
}
KERNEL(float4_in_shared_memory) {
    __shared__ float4 s[32];
    if (threadIdx.x < 32) s[threadIdx.x] = ((const float4*)x)[threadIdx.x];
    __syncthreads();
    y[blockIdx.x * cols + threadIdx.x] = ((float*)s)[threadIdx.x];
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
DEVICE(float row_max(float v) { for (int d = 16; d > 0; d /= 2) v = fmaxf(v, __shfl_xor_sync(0xffffffff, v, d, 16)); return v; })
KERNEL(full_mask_where_lanes_leave_a_loop_for_good) {
    for (int i = 0; i < 3; i++) {
        if (threadIdx.x % 32 >= 32 - 16 * (i == 2)) return;
        y[blockIdx.x * cols + threadIdx.x] = row_max(x[threadIdx.x] + i);
    }
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
KERNEL(votes_of_a_warp) {
    bool any = __any_sync(0xffffffff, x[threadIdx.x] > 0), all = __all_sync(0xffffffff, x[threadIdx.x] > 0);
    y[blockIdx.x * cols + threadIdx.x] = any + all;
}
KERNEL(one_warp_alone_shuffles) {
    float v = x[threadIdx.x];
    if (threadIdx.x / 32 == 2) v = __shfl_xor_sync(0xffffffff, v, 3);
    y[blockIdx.x * cols + threadIdx.x] = v;
}
KERNEL(only_one_warp_goes_on) {
    __shared__ float s[128];
    s[threadIdx.x] = x[threadIdx.x];
    __syncthreads();
    if (threadIdx.x >= 32) return;
    float v = s[threadIdx.x] + s[threadIdx.x + 32] + s[threadIdx.x + 64] + s[threadIdx.x + 96];
    for (int d = 16; d > 0; d /= 2) v += __shfl_xor_sync(0xffffffff, v, d);
    if (threadIdx.x == 0) y[blockIdx.x * cols] = v;
}

// ---- barriers

KERNEL(a_ragged_row_whose_loop_all_threads_run) {  // cols 300
    __shared__ float s[128];
    for (int start = 0; start < cols; start += blockDim.x) {
        int col = start + threadIdx.x;
        s[threadIdx.x] = col < cols ? x[blockIdx.x * cols + col] : 0;
        __syncthreads();
        if (col < cols) y[blockIdx.x * cols + col] = s[127 - threadIdx.x];
        __syncthreads();
    }
}
KERNEL(block_whose_rows_end) {  // rows 3
    if (blockIdx.x >= rows) return;
    __syncthreads();
    y[blockIdx.x * cols + threadIdx.x] = 1;
}
KERNEL(two_barriers_on_one_line) {
    __syncthreads(); __syncthreads();
    y[blockIdx.x * cols + threadIdx.x] = 1;
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
KERNEL(barriers_of_both_branches) {  // synccheck is wrong: a GPU counts who arrives, wherever
    if (threadIdx.x < 64) {
        __syncthreads();
    } else {
        __syncthreads();
    }
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
DEVICE(int next;)
KERNEL(rows_taken_from_a_counter) {
    __shared__ int row;
    for (;;) {
        if (threadIdx.x == 0) row = atomicAdd(&next, 1);
        __syncthreads();
        int mine = row;
        __syncthreads();
        if (mine >= rows) return;
        y[mine * cols + threadIdx.x] = x[mine * cols + threadIdx.x];
    }
}
KERNEL(each_block_its_rows_in_turns) {
    for (int row = blockIdx.x; row < rows; row += gridDim.x) y[row * cols + threadIdx.x] = x[row * cols + threadIdx.x];
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
KERNEL(large_local_array) {
    float large[20000];
    for (int i = 0; i < 20000; i += 100) large[i] = i;
    y[blockIdx.x * cols + threadIdx.x] = large[threadIdx.x * 100];
}
KERNEL(bytes_and_shorts_of_any_value) {
    unsigned char bytes[6];
    short shorts[6];
    for (int i = 0; i < 6; i++) bytes[i] = i % 2 ? 0xa5 : 0xff;
    for (int i = 0; i < 6; i++) shorts[i] = i % 2 ? -91 : (short)0xa5a5;
    y[blockIdx.x * cols + threadIdx.x] = bytes[threadIdx.x % 6] + shorts[threadIdx.x % 5];
}
KERNEL(recursion_with_an_end) {
    struct Fold { __device__ static float of(const float* x, int n) { return n ? x[n] + of(x, n - 1) : x[0]; } };
    y[blockIdx.x * cols + threadIdx.x] = Fold::of(x, threadIdx.x % 9);
}
KERNEL(words_that_hold_minus_one) {
    int a[4];
    for (int i = 0; i < 4; i++) a[i] = -1;
    y[blockIdx.x * cols + threadIdx.x] = a[threadIdx.x % 4];
}
KERNEL(offsets_in_sixty_four_bits) {
    long long at = (long long)blockIdx.x * cols + threadIdx.x;
    y[at] = x[at];
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
