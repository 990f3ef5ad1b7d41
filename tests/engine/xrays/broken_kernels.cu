// Kernels that are each broken in one way, and what an x-ray has to say of them: "//! race" stands at the line
// that it has to name. Many have the name of a sound kernel behind their own: where @one|other@ stands, the sound one has
// the first, the broken one the second or nothing. Launched on 4 rows of 512 columns in blocks of 128 threads, where no
// comment says otherwise.
// What compute-sanitizer of an H200 does not see of them stands behind the name of a section; else it agrees. It does not see what
// the compiler leaves out either, as all that is done through a pointer which is known to be null.

// ---- outside of arrays (memcheck sees global memory alone: not a thread's own arrays, nor constants)

KERNEL(one_element_past_the_end) {
    int at = blockIdx.x * blockDim.x + threadIdx.x;
    y[at] = x[at + rows * cols - 511];  //! out of bounds
}
KERNEL(through_a_null_pointer) {
    float* nowhere = nullptr;
    nowhere[threadIdx.x] = x[threadIdx.x];  //! out of bounds
}
KERNEL(writes_into_its_input) {
    ((float*)x)[blockIdx.x * cols + threadIdx.x] = 0;  //! input written
}
KERNEL(another_threads_variable) {
    __shared__ const float* shown;
    float mine = x[threadIdx.x];
    if (threadIdx.x == 0) shown = &mine;
    __syncthreads();
    y[blockIdx.x * cols + threadIdx.x] = threadIdx.x ? *shown : mine;  //! fault
}
KERNEL(own_array_read_past_its_end) {
    float own[2][4] = {};
    for (int i = 0; i < 8; i++) own[0][i] = i;
    y[blockIdx.x * cols + threadIdx.x] = own[1][threadIdx.x % 5];  //! out of bounds
}
KERNEL(array_in_a_struct_written_past_its_end) {
    struct Pair { float values[4]; int count; } pair = {};
    pair.values[threadIdx.x % 5] = 1;  //! out of bounds
    y[blockIdx.x * cols + threadIdx.x] = pair.values[1] + pair.count;
}
KERNEL(size_that_fits_no_int) {
    size_t n = rows * 20000 * (cols + 50000);  //! overflow
    if (threadIdx.x < n) y[blockIdx.x * cols + threadIdx.x] = 1;
}
KERNEL(copy_past_the_end) {
    __shared__ float s[128];
    if (threadIdx.x == 0) memcpy(s, x, sizeof s + 4);  //! out of bounds
    __syncthreads();
    y[blockIdx.x * cols + threadIdx.x] = s[threadIdx.x];
}
KERNEL(copy_by_all) {
    __shared__ float s[128];
    memcpy(s, x + threadIdx.x, 8);  //! race
    __syncthreads();
    y[blockIdx.x * cols + threadIdx.x] = s[threadIdx.x % 2];
}
DEVICE(int before; template <class T> __device__ T& kept(int at) { static T kept_ones[2]; return kept_ones[at]; })
KERNEL(static_of_a_template) {
    kept<float>(threadIdx.x / 32) = threadIdx.x;  //! out of bounds, race
}
DEVICE(__constant__ float one[4], other[4] = {1, 2, 3, 4};)
KERNEL(writes_a_constant) {
    if (threadIdx.x == 3) atomicAdd((float*)other + 1, 1);  //! fault
    y[blockIdx.x * cols + threadIdx.x] = one[threadIdx.x % 4] + other[threadIdx.x % 4];
}
DEVICE(__constant__ float one[4];)
KERNEL(constant_read_past_its_end) {
    y[blockIdx.x * cols + threadIdx.x] = one[threadIdx.x];  //! out of bounds
}

// ---- misaligned (memcheck agrees where the compiler makes one access of it)

KERNEL(an_int_at_an_odd_byte) {
    int v = *(const int*)((const char*)x + 4 * threadIdx.x + 1);  //! misaligned
    y[blockIdx.x * cols + threadIdx.x] = v;
}
KERNEL(a_vector_in_shared_bytes) {
    __shared__ char room[2 + 16 * 128];
    ((float2*)(room + 2))[threadIdx.x] = make_float2(0, 0);  //! misaligned
}

// ---- outside of shared arrays (to memcheck a block's shared memory is one array)

KERNEL(shared_element_before_the_first) {
    __shared__ float s[128];
    s[(int)threadIdx.x - 1] = x[threadIdx.x];  //! out of bounds
}
KERNEL(one_array_into_the_next) {
    __shared__ float a[128];
    __shared__ float b[128];
    a[threadIdx.x] = b[threadIdx.x] = 0;
    __syncthreads();
    y[blockIdx.x * cols + threadIdx.x] = a[2 * threadIdx.x] + b[0];  //! out of bounds
}

// ---- shared memory that nobody has written (initcheck looks at global memory alone)

KERNEL(shared_written_by_half_of_the_threads) {
    __shared__ float s[128];
    if (threadIdx.x < 64) s[threadIdx.x] = 1;
    __syncthreads();
    y[blockIdx.x * cols + threadIdx.x] = s[threadIdx.x];  //! uninitialised
}
KERNEL(shared_sum_without_a_zero, every_thread_its_own_word) {
    __shared__ float sum[128];
    @sum[threadIdx.x] = 0;@
    for (int i = 0; i < 3; i++) sum[threadIdx.x] += x[threadIdx.x + i];  //! uninitialised
    y[blockIdx.x * cols + threadIdx.x] = sum[threadIdx.x];
}
KERNEL(shared_counter_without_a_zero, counter_set_by_an_exchange) {
    __shared__ int count;
    @if (threadIdx.x == 0) atomicExch(&count, 0);@
    @__syncthreads();@
    if (x[threadIdx.x] > 0) atomicAdd(&count, 1);  //! uninitialised
    __syncthreads();
    y[blockIdx.x * cols + threadIdx.x] = count;
}
KERNEL(one_field_of_a_shared_struct, a_struct_a_thread) {
    struct Pair { float max, sum; };
    __shared__ Pair pairs[128];
    pairs[threadIdx.x]@ = {x[threadIdx.x], 1}|.max = x[threadIdx.x]@;
    __syncthreads();
    Pair other = pairs[threadIdx.x ^ 64];  //! uninitialised
    y[blockIdx.x * cols + threadIdx.x] = other.max + other.sum;
}
KERNEL(shared_memory_that_the_block_before_has_left) {
    __shared__ float kept;
    if (blockIdx.x == 0 && threadIdx.x == 0) kept = 1;
    __syncthreads();
    if (blockIdx.x) y[blockIdx.x * cols + threadIdx.x] = kept;  //! uninitialised
}
KERNEL(shared_bytes_that_nobody_has_written) {
    __shared__ unsigned char mark[128];
    if (threadIdx.x % 2) mark[threadIdx.x] = 1;
    y[blockIdx.x * cols + threadIdx.x] = mark[threadIdx.x];  //! uninitialised
}

// ---- variables of a thread that it has not written (no tool of an H200's looks at registers)

KERNEL(local_array_one_short, local_array_filled_to_the_end) {
    float a[8];
    for (int i = 0; i < @8|7@; i++) a[i] = x[i];
    float sum = 0;
    for (int i = 0; i < 8; i++) sum += a[@(i + threadIdx.x) % 8|i@];  //! uninitialised
    y[blockIdx.x * cols + threadIdx.x] = sum;
}
KERNEL(scalar_set_in_one_branch, scalar_set_and_read_in_one_branch) {
    float v;
    if (threadIdx.x < 32) v = x[threadIdx.x];
    @__syncthreads();@
    y[blockIdx.x * cols + threadIdx.x] = @threadIdx.x < 32 ? v : 0|v@;  //! uninitialised
}
KERNEL(pointer_set_in_one_branch) {
    const float* from;
    if (threadIdx.x < 64) from = x;
    y[blockIdx.x * cols + threadIdx.x] = from[threadIdx.x];  //! uninitialised, out of bounds?, misaligned?
}
KERNEL(field_of_a_local_struct, structs_with_first_values) {
    struct Best { float value@ = -1@; int index@ = -1@; };
    Best best[2];
    best[0].value = x[0];
    best[1].value = x[1];
    best[0].index = 0;
    y[blockIdx.x * cols + threadIdx.x] = best[threadIdx.x % 2].index;  //! uninitialised
}
KERNEL(doubles_of_which_half_are_set) {
    double d[4];
    for (int i = 0; i < 4; i += 2) d[i] = i;
    y[blockIdx.x * cols + threadIdx.x] = d[threadIdx.x % 4];  //! uninitialised
}
KERNEL(bytes_of_which_the_last_is_not_set) {
    unsigned char is_large[8];
    for (int i = 0; i < 7; i++) is_large[i] = x[threadIdx.x + i] > 0;
    int count = 0;
    for (int i = 0; i < 8; i++) count += is_large[i];  //! uninitialised
    y[blockIdx.x * cols + threadIdx.x] = count;
}
KERNEL(flag_that_one_thread_sets) {
    bool is_first;
    if (threadIdx.x == 0) is_first = blockIdx.x == 0;
    y[blockIdx.x * cols + threadIdx.x] = is_first ? 1 : 0;  //! uninitialised
}
KERNEL(memory_of_the_heap_that_nobody_has_written, memory_of_the_devices_heap) {
    float* mine = (float*)malloc(4 * sizeof(float));
    mine[threadIdx.x % 4] = x[threadIdx.x];
    y[blockIdx.x * cols + threadIdx.x] = mine[@threadIdx.x|threadIdx.x * 2@ % 4];  //! uninitialised
    free(mine);
}

DEVICE(__noinline__ uchar2 made(int v) { return make_uchar2(v, 3 * v); })
KERNEL(one_small_struct_too_few, small_structs_that_a_function_returns) {
    uchar2 a[4];
    for (int i = 0; i < @4|3@; i++) a[i] = made(i);
    y[blockIdx.x * cols + threadIdx.x] = a[threadIdx.x % 4].x + a[threadIdx.x % 3].y;  //! uninitialised
}

// ---- y before it is written

KERNEL(adds_to_an_output_that_has_no_value) {
    y[blockIdx.x * cols + threadIdx.x] += x[threadIdx.x];  //! uninitialised
}
KERNEL(atomics_on_an_output_that_has_no_value) {
    atomicAdd(&y[blockIdx.x], x[threadIdx.x]);  //! uninitialised
}

// ---- races in a block (racecheck of an H200 sees these where they are in shared memory, of whole words, and between no atomics)

KERNEL(the_last_warp_writes_too_early) {
    __shared__ float s;
    if (threadIdx.x == 0) s = x[0];
    __syncthreads();
    float v = s, w = __shfl_xor_sync(0xffffffff, v, 1);
    if (threadIdx.x == 127) s = w + 1;  //! race
    y[blockIdx.x * cols + threadIdx.x] = v;
}
KERNEL(atomic_and_plain_writes) {
    __shared__ int count;
    if (threadIdx.x == 0) count = 0;
    __syncthreads();
    if (threadIdx.x < 64) atomicAdd(&count, 1);
    else count = 5;  //! race
}
KERNEL(counter_read_while_others_count, atomics_that_thread_0_has_zeroed) {
    __shared__ int count;
    if (threadIdx.x == 0) count = 0;
    __syncthreads();
    atomicAdd(&count, 1);
    @__syncthreads();@
    y[blockIdx.x * cols + threadIdx.x] = count;  //! race
}
KERNEL(syncwarp_between_two_warps) {
    __shared__ float s[128];
    s[threadIdx.x] = x[threadIdx.x];  //! race
    __syncwarp();
    y[blockIdx.x * cols + threadIdx.x] = s[(threadIdx.x + 16) % 128];  //! uninitialised?
}
KERNEL(bytes_of_two_threads, bytes_of_one_word) {
    __shared__ unsigned char mark[128];
    mark[threadIdx.x@| / 2@] = threadIdx.x;  //! race
    __syncthreads();
    y[blockIdx.x * cols + threadIdx.x] = mark[@127 - threadIdx.x|0@];
}
KERNEL(halves_of_two_threads, halves_of_one_word) {
    __shared__ short kept[128];
    kept[threadIdx.x@| % 64@] = threadIdx.x;  //! race
    __syncwarp();
    y[blockIdx.x * cols + threadIdx.x] = kept[threadIdx.x @^ 1|% 64@];
}
KERNEL(a_word_over_bytes_of_others) {
    __shared__ unsigned char bytes[128];
    bytes[threadIdx.x] = 1;
    if (threadIdx.x % 4 == 0) *(unsigned*)(bytes + threadIdx.x) = 0;  //! race
}
KERNEL(a_flag_without_a_fence, flag_in_shared_memory_with_fences) {  // racecheck is wrong: it knows no flags
    __shared__ volatile int full;
    __shared__ float kept;
    if (threadIdx.x == 0) full = 0;
    __syncthreads();
    if (threadIdx.x == 0) { kept = x[0]; @__threadfence_block();@ full = 1; }
    if (threadIdx.x == 64) {
        while (!full) { }
        @__threadfence_block();@
        y[blockIdx.x * cols] = kept;  //! race
    }
}
KERNEL(last_warp_without_a_barrier_as_volatile, last_warp_with_barriers_as_volatile) {  // block 32
    __shared__ volatile float s[64];
    int t = threadIdx.x;
    s[t] = x[t]; s[t + 32] = x[t + 32];
    for (int half = 32; half > 0; half /= 2) {
        @__syncwarp();@
        float sum = s[t] + s[t + half];
        @__syncwarp();@
        s[t] = sum;  //! race
    }
    if (t == 0) y[blockIdx.x * cols] = s[0];
}
KERNEL(volatile_instead_of_a_barrier) {
    __shared__ volatile float s[128];
    s[threadIdx.x] = x[threadIdx.x];  //! race?
    __threadfence_block();
    y[blockIdx.x * cols + threadIdx.x] = s[127 - threadIdx.x];  //! race, uninitialised?
}
KERNEL(shuffle_instead_of_a_barrier) {  // block 32
    __shared__ float s[32];
    s[threadIdx.x] = x[threadIdx.x];
    float one = __shfl_sync(~0u, 1.0f, 0);
    y[blockIdx.x * cols + threadIdx.x] = one * s[31 - threadIdx.x];  //! race
}
KERNEL(half_of_the_block_at_a_numbered_barrier, numbered_barriers_of_two_halves) {
    __shared__ float s[128];
    s[threadIdx.x] = x[threadIdx.x];
    __barrier_sync_count(1 + threadIdx.x / 64, 64);
    y[blockIdx.x * cols + threadIdx.x] = s[threadIdx.x ^ @33|64@];  //! race, uninitialised?
}
KERNEL(global_scratch_without_a_barrier, y_written_and_then_read) {
    float* mine = y + blockIdx.x * cols;
    mine[threadIdx.x] = x[threadIdx.x];  //! race
    @__syncthreads();@
    mine[threadIdx.x + 128] = mine[threadIdx.x ^ 64];  //! uninitialised?
}
KERNEL(room_in_the_heap_without_a_barrier, room_in_the_heap_for_a_block) {
    __shared__ float* room;
    if (threadIdx.x == 0) room = (float*)malloc(128 * sizeof(float));
    __syncthreads();
    room[threadIdx.x] = x[threadIdx.x];
    @__syncthreads();@
    y[blockIdx.x * cols + threadIdx.x] = room[threadIdx.x ^ 32];  //! race, uninitialised?
    @__syncthreads(); if (threadIdx.x == 0) free(room);@
}

// ---- races between blocks (global memory: racecheck does not look there)

KERNEL(a_fence_taken_for_a_barrier) {
    if (threadIdx.x == 0) y[blockIdx.x] = x[blockIdx.x];
    __threadfence();
    if (threadIdx.x == 1 && blockIdx.x) y[cols + blockIdx.x] = y[blockIdx.x - 1];  //! race
}
DEVICE(int arrived;)
KERNEL(last_block_behind_a_fence_of_its_block) {
    if (threadIdx.x == 0) y[blockIdx.x] = x[blockIdx.x];
    __threadfence_block();
    if (threadIdx.x == 0 && atomicAdd(&arrived, 1) == (int)gridDim.x - 1) {
        y[cols] = y[0] + y[1];  //! race
    }
}
DEVICE(float total;)
KERNEL(sum_of_all_blocks_by_atomics_of_a_block, atomics_of_all_blocks) {
    if (threadIdx.x == 0) atomicAdd@|_block@(&total, x[blockIdx.x]);  //! race
    y[blockIdx.x * cols + threadIdx.x] = 1;
}
DEVICE(int arrived;)
KERNEL(last_block_without_a_fence, last_block_reads_as_volatile) {
    if (threadIdx.x) return;
    y[blockIdx.x] = x[blockIdx.x];
    @__threadfence();@
    if (atomicAdd(&arrived, 1) == (int)gridDim.x - 1) {
        float sum = 0;
        for (int i = 0; i < (int)gridDim.x; i++) sum += (@(volatile float*)@y)[i];  //! race
        y[cols] = sum;
    }
}
KERNEL(every_block_writes_the_whole_output, every_block_zeroes_the_output) {
    for (int i = threadIdx.x; i < rows * cols; i += blockDim.x) y[i] = @0|blockIdx.x@;  //! race
}
DEVICE(volatile float total;)
KERNEL(volatile_total_of_an_earlier_block) {
    if (blockIdx.x == 0 && threadIdx.x == 0) total = x[0];  //! race?
    if (blockIdx.x == 1 && threadIdx.x == 0) y[0] = total;  //! race
}

// ---- barriers (an H200 goes on without threads that have exited, and synccheck with it)

KERNEL(barrier_in_one_branch, barrier_in_a_branch_that_all_take) {
    if (@cols > 100|threadIdx.x < 64@) __syncthreads();  //! barrier
    y[blockIdx.x * cols + threadIdx.x] = 1;
}
KERNEL(vote_of_the_block_in_a_branch, vote_of_the_block) {
    int any = 0;
    @|if (threadIdx.x % 2)@ any = __syncthreads_@count|or@(x[threadIdx.x] > 0);  //! barrier
    y[blockIdx.x * cols + threadIdx.x] = any;
}
KERNEL(numbered_barrier_that_waits_for_more_than_come) {
    if (threadIdx.x < 32) __barrier_sync_count(1, 64);  //! waiting
}

// ---- warp calls (synccheck sees masks that threads disagree about only where they wait for ever)

KERNEL(shuffle_of_all_lanes_in_a_branch, half_a_warp_with_its_mask) {
    float v = x[threadIdx.x];
    if (threadIdx.x % 32 < 16) v += __shfl_xor_sync(@0x0000ffff, v, 8|0xffffffff, v, 1@);  //! deadlock
    y[blockIdx.x * cols + threadIdx.x] = v;
}
KERNEL(mask_of_no_lane) {
    y[blockIdx.x * cols + threadIdx.x] = __shfl_sync(0, x[threadIdx.x], 0);  //! fault
}
KERNEL(shuffle_from_a_lane_outside_of_the_mask) {
    float v = x[threadIdx.x];
    if (threadIdx.x % 32 < 8) v = __shfl_sync(0xff, v, 20);  //! absent lane
    y[blockIdx.x * cols + threadIdx.x] = v;
}
KERNEL(width_of_seven) {
    y[blockIdx.x * cols + threadIdx.x] = __shfl_down_sync(0xffffffff, x[threadIdx.x], 1, 7);  //! fault
}
KERNEL(shuffle_from_a_lane_that_has_left) {
    if (threadIdx.x % 32 >= 20) return;
    y[blockIdx.x * cols + threadIdx.x] = __shfl_down_sync(0xffffffff, x[threadIdx.x], 1);  //! absent lane
}
KERNEL(lanes_with_different_masks) {
    unsigned mask = threadIdx.x % 2 ? 0xffffffff : 0x55555555;
    y[blockIdx.x * cols + threadIdx.x] = __shfl_sync(mask, x[threadIdx.x], 0);  //! deadlock
}
KERNEL(syncwarp_whose_mask_leaves_out_the_caller) {
    __syncwarp(0xfffffffe);  //! fault
}

// ---- no end, and other ends (a division by zero ends nothing on a GPU)

KERNEL(waits_for_a_thread_behind_the_barrier) {
    __shared__ int flag;
    if (threadIdx.x == 0) flag = 0;
    __syncthreads();
    if (threadIdx.x == 64) while (*(volatile int*)&flag == 0) { }  //! waiting
    __syncthreads();
    if (threadIdx.x == 0) flag = 1;
}
KERNEL(remainder_by_zero) {
    y[blockIdx.x * cols + threadIdx.x] = cols % (int)(threadIdx.x / 64);  //! fault
}
DEVICE(int deeper(int n, const float* x) { float kept[64]; kept[n % 64] = x[n % 64]; return n < 0 ? 0 : deeper(n + 1, x) + (int)kept[n % 64]; })
KERNEL(recursion_without_an_end) {
    y[blockIdx.x * cols + threadIdx.x] = deeper(cols, x);  //! fault?
}
KERNEL(local_index_far_past_the_end) {
    float a[8];
    for (int i = 0; i < 8; i++) a[i] = x[i];
    y[blockIdx.x * cols + threadIdx.x] = a[threadIdx.x * 100000];  //! out of bounds
}
