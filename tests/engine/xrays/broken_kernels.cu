// Kernels that are each broken in one way, and what an x-ray has to say of them: "//! race" stands at the line
// that it has to name. Launched on 4 rows of 512 columns in blocks of 128 threads, where no comment says otherwise.

// ---- outside of arrays

KERNEL(element_before_the_first) {
    y[blockIdx.x * cols + threadIdx.x] = x[(int)threadIdx.x - 1 + (int)blockIdx.x * cols];  //! out of bounds
}
KERNEL(columns_to_the_end_inclusive) {
    for (int col = threadIdx.x; col <= cols; col += blockDim.x) {
        y[blockIdx.x * cols + col] = 1;  //! race, out of bounds
    }
}
KERNEL(vector_behind_the_row) {
    const float4* row = (const float4*)(x + blockIdx.x * cols);
    float4 v = row[cols / 4 + threadIdx.x];  //! out of bounds
    y[blockIdx.x * cols + threadIdx.x] = v.x;
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

// ---- misaligned

KERNEL(an_int_at_an_odd_byte) {
    int v = *(const int*)((const char*)x + 4 * threadIdx.x + 1);  //! misaligned
    y[blockIdx.x * cols + threadIdx.x] = v;
}
KERNEL(a_vector_in_shared_bytes) {
    __shared__ char room[2 + 16 * 128];
    ((float2*)(room + 2))[threadIdx.x] = make_float2(0, 0);  //! misaligned
}

// ---- outside of shared arrays

KERNEL(shared_array_as_long_as_half_the_block) {
    __shared__ float s[64];
    s[threadIdx.x] = x[threadIdx.x];  //! out of bounds
}
KERNEL(one_array_into_the_next) {
    __shared__ float a[128];
    __shared__ float b[128];
    a[threadIdx.x] = b[threadIdx.x] = 0;
    __syncthreads();
    y[blockIdx.x * cols + threadIdx.x] = a[2 * threadIdx.x] + b[0];  //! out of bounds
}

// ---- shared memory that nobody has written

KERNEL(shared_read_before_anything_is_written) {
    __shared__ float s[128];
    y[blockIdx.x * cols + threadIdx.x] = s[threadIdx.x];  //! uninitialised
}
KERNEL(shared_counter_without_a_zero) {
    __shared__ int count;
    atomicAdd(&count, 1);  //! uninitialised
    __syncthreads();
    y[blockIdx.x * cols + threadIdx.x] = count;
}
KERNEL(one_field_of_a_shared_struct) {
    struct Pair { float max, sum; };
    __shared__ Pair pairs[128];
    pairs[threadIdx.x].max = x[threadIdx.x];
    y[blockIdx.x * cols + threadIdx.x] = pairs[threadIdx.x].sum;  //! uninitialised
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

// ---- variables of a thread that it has not written

KERNEL(local_array_one_short) {
    float a[8];
    for (int i = 0; i < 7; i++) a[i] = x[i];
    float sum = 0;
    for (int i = 0; i < 8; i++) sum += a[i];  //! uninitialised
    y[blockIdx.x * cols + threadIdx.x] = sum;
}
KERNEL(scalar_set_in_one_branch) {
    float v;
    if (threadIdx.x < 32) v = x[threadIdx.x];
    y[blockIdx.x * cols + threadIdx.x] = v;  //! uninitialised
}
KERNEL(pointer_set_in_one_branch) {
    const float* from;
    if (threadIdx.x < 64) from = x;
    y[blockIdx.x * cols + threadIdx.x] = from[threadIdx.x];  //! uninitialised, out of bounds
}
KERNEL(a_vector_of_which_lanes_are_set) {
    float4 v[2];
    v[0] = make_float4(1, 1, 1, 1);
    v[1].x = v[1].y = 1;
    y[blockIdx.x * cols + threadIdx.x] = v[threadIdx.x % 2].z;  //! uninitialised
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
KERNEL(memory_of_the_heap_that_nobody_has_written) {
    float* mine = (float*)malloc(4 * sizeof(float));
    mine[0] = mine[1] = x[threadIdx.x];
    y[blockIdx.x * cols + threadIdx.x] = mine[1 + threadIdx.x % 2];  //! uninitialised
    free(mine);
}

// ---- y before it is written

KERNEL(adds_to_an_output_that_has_no_value) {
    y[blockIdx.x * cols + threadIdx.x] += x[threadIdx.x];  //! uninitialised
}
KERNEL(atomics_on_an_output_that_has_no_value) {
    atomicAdd(&y[blockIdx.x], x[threadIdx.x]);  //! uninitialised
}

// ---- races in a block

KERNEL(no_barrier_before_a_neighbour_is_read) {
    __shared__ float s[128];
    s[threadIdx.x] = x[threadIdx.x];  //! race
    y[blockIdx.x * cols + threadIdx.x] = s[threadIdx.x ^ 32];  //! uninitialised?
}
KERNEL(no_barrier_before_shared_memory_is_used_again) {
    __shared__ float s[128];
    s[threadIdx.x] = x[threadIdx.x];
    __syncthreads();
    float other = s[127 - threadIdx.x];
    s[threadIdx.x] = other;  //! race
    y[blockIdx.x * cols + threadIdx.x] = other;
}
KERNEL(last_steps_of_a_tree_without_syncwarp) {
    __shared__ float s[128];
    s[threadIdx.x] = x[threadIdx.x];
    for (int half = 64; half >= 32; half /= 2) {
        __syncthreads();
        if (threadIdx.x < half) s[threadIdx.x] += s[threadIdx.x + half];
    }
    if (threadIdx.x < 16) s[threadIdx.x] += s[threadIdx.x + 16];  //! race
    if (threadIdx.x < 8) y[blockIdx.x * cols + threadIdx.x] = s[threadIdx.x];
}
KERNEL(the_last_warp_writes_too_early) {
    __shared__ float s;
    if (threadIdx.x == 0) s = x[0];
    __syncthreads();
    float v = s, w = __shfl_xor_sync(0xffffffff, v, 1);
    if (threadIdx.x == 127) s = w + 1;  //! race
    y[blockIdx.x * cols + threadIdx.x] = v;
}
KERNEL(the_first_warp_writes_too_early) {
    __shared__ float s;
    if (threadIdx.x == 0) s = x[0];
    __syncthreads();
    float v = s;
    if (threadIdx.x == 0) s = v + 1;  //! race
    y[blockIdx.x * cols + threadIdx.x] = v;
}
KERNEL(counter_without_an_atomic) {
    __shared__ int count;
    if (threadIdx.x == 0) count = 0;
    __syncthreads();
    count++;  //! race
}
KERNEL(all_threads_write_one_word) {
    __shared__ int last;
    last = threadIdx.x;  //! race
    __syncthreads();
    y[blockIdx.x * cols + threadIdx.x] = last;
}
KERNEL(atomic_and_plain_writes) {
    __shared__ int count;
    if (threadIdx.x == 0) count = 0;
    __syncthreads();
    if (threadIdx.x < 64) atomicAdd(&count, 1);
    else count = 5;  //! race
}
KERNEL(syncwarp_between_two_warps) {
    __shared__ float s[128];
    s[threadIdx.x] = x[threadIdx.x];  //! race
    __syncwarp();
    y[blockIdx.x * cols + threadIdx.x] = s[(threadIdx.x + 16) % 128];  //! uninitialised?
}
KERNEL(neighbouring_lanes_without_syncwarp) {
    __shared__ float s[128];
    s[threadIdx.x] = x[threadIdx.x];  //! race
    y[blockIdx.x * cols + threadIdx.x] = s[threadIdx.x ^ 1];  //! uninitialised?
}
KERNEL(bytes_of_two_threads) {
    __shared__ char mark[64];
    mark[threadIdx.x / 2] = threadIdx.x;  //! race
}
KERNEL(a_word_over_bytes_of_others) {
    __shared__ unsigned char bytes[128];
    bytes[threadIdx.x] = 1;
    if (threadIdx.x % 4 == 0) *(unsigned*)(bytes + threadIdx.x) = 0;  //! race
}
KERNEL(counter_read_behind_its_own_warp_alone) {
    __shared__ int count;
    if (threadIdx.x == 0) count = 0;
    __syncthreads();
    atomicAdd(&count, 1);  //! race?
    __syncwarp();
    if (threadIdx.x >= 96) y[blockIdx.x * cols + threadIdx.x] = count;  //! race
}
KERNEL(a_flag_without_a_fence) {
    __shared__ int ready;
    __shared__ float value;
    if (threadIdx.x == 0) ready = 0;
    __syncthreads();
    if (threadIdx.x == 0) { value = 3; *(volatile int*)&ready = 1; }
    if (threadIdx.x == 64) {
        while (*(volatile int*)&ready == 0) { }
        y[blockIdx.x * cols] = value;  //! race
    }
}
KERNEL(global_scratch_without_a_barrier) {
    float* mine = y + blockIdx.x * cols;
    mine[threadIdx.x] = x[threadIdx.x];  //! race
    mine[threadIdx.x + 128] = mine[threadIdx.x ^ 64];  //! uninitialised?
}
KERNEL(room_in_the_heap_without_a_barrier) {
    __shared__ float* room;
    if (threadIdx.x == 0) room = (float*)malloc(128 * sizeof(float));
    __syncthreads();
    room[threadIdx.x] = x[threadIdx.x];
    y[blockIdx.x * cols + threadIdx.x] = room[threadIdx.x ^ 32];  //! race, uninitialised
}

// ---- races between blocks

KERNEL(every_block_writes_one_element) {
    if (threadIdx.x == 0) y[0] = blockIdx.x;  //! race
}
KERNEL(reads_what_another_block_writes) {
    float* mine = y + blockIdx.x * cols;
    mine[threadIdx.x] = x[threadIdx.x];
    if (blockIdx.x) mine[threadIdx.x + 128] = mine[(int)threadIdx.x - cols];  //! race
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
KERNEL(sum_of_all_blocks_by_atomics_of_a_block) {
    if (threadIdx.x == 0) atomicAdd_block(&total, x[blockIdx.x]);  //! race
    y[blockIdx.x * cols + threadIdx.x] = 1;
}
DEVICE(int arrived;)
KERNEL(a_flag_of_a_block_without_a_fence) {
    if (threadIdx.x) return;
    if (blockIdx.x == 0) {
        y[0] = x[0];
        arrived = 1;  //! race?
    } else {
        y[1] = *(volatile int*)&arrived ? y[0] : 0;  //! race
    }
}
KERNEL(sum_of_blocks_read_without_waiting) {
    if (blockIdx.x == 0 && threadIdx.x == 0) y[0] = 0;  //! race?
    if (threadIdx.x == 0) atomicAdd(&y[0], x[blockIdx.x]);  //! race
}

// ---- barriers

KERNEL(barrier_in_one_branch) {
    if (threadIdx.x < 64) __syncthreads();  //! barrier
}
KERNEL(barrier_in_a_ragged_loop) {  // cols 300
    for (int col = threadIdx.x; col < cols; col += blockDim.x) __syncthreads();  //! barrier
}
KERNEL(barriers_of_both_branches_on_one_line) {
    if (threadIdx.x < 64) __syncthreads(); else __syncthreads();  //! barrier
}
KERNEL(barrier_behind_a_break) {
    for (int i = 0; i < 4; i++) {
        if (i == (int)threadIdx.x / 32) break;
        __syncthreads();  //! barrier
    }
}
KERNEL(vote_of_the_block_in_a_branch) {
    int any = 0;
    if (threadIdx.x % 2) any = __syncthreads_or(x[threadIdx.x] > 0);  //! barrier
    y[blockIdx.x * cols + threadIdx.x] = any;
}
KERNEL(numbered_barrier_that_waits_for_more_than_come) {
    if (threadIdx.x < 32) __barrier_sync_count(1, 64);  //! waiting
}

// ---- warp calls

KERNEL(shuffle_of_all_lanes_in_a_branch) {
    float v = x[threadIdx.x];
    if (threadIdx.x % 32 < 16) v += __shfl_xor_sync(0xffffffff, v, 1);  //! deadlock
    y[blockIdx.x * cols + threadIdx.x] = v;
}
KERNEL(shuffle_from_a_lane_outside_of_the_mask) {
    float v = x[threadIdx.x];
    if (threadIdx.x % 32 < 8) v = __shfl_sync(0xff, v, 20);  //! absent lane
    y[blockIdx.x * cols + threadIdx.x] = v;
}
KERNEL(lanes_with_different_masks) {
    unsigned mask = threadIdx.x % 2 ? 0xffffffff : 0x55555555;
    y[blockIdx.x * cols + threadIdx.x] = __shfl_sync(mask, x[threadIdx.x], 0);  //! deadlock
}
KERNEL(syncwarp_whose_mask_leaves_out_the_caller) {
    __syncwarp(0xfffffffe);  //! fault
}

// ---- no end, and other ends

KERNEL(loop_without_an_end) {
    float v = x[0];
    while (true) v *= 2;  //! hang
    y[0] = v;
}
DEVICE(int flag;)
KERNEL(waits_for_a_later_block) {
    if (threadIdx.x) return;
    if (blockIdx.x == 0) while (*(volatile int*)&flag == 0) { }  //! waiting
    else atomicExch(&flag, 1);
}
KERNEL(waits_for_a_thread_behind_the_barrier) {
    __shared__ int flag;
    if (threadIdx.x == 0) flag = 0;
    __syncthreads();
    if (threadIdx.x == 64) while (*(volatile int*)&flag == 0) { }  //! waiting
    __syncthreads();
    if (threadIdx.x == 0) flag = 1;
}
DEVICE(int deeper(int n, const float* x) { float kept[64]; kept[n % 64] = x[n % 64]; return n < 0 ? 0 : deeper(n + 1, x) + (int)kept[n % 64]; })
KERNEL(recursion_without_an_end) {
    y[blockIdx.x * cols + threadIdx.x] = deeper(cols, x);  //! fault?
}
KERNEL(local_index_far_past_the_end) {
    float a[8];
    for (int i = 0; i < 8; i++) a[i] = x[i];
    y[blockIdx.x * cols + threadIdx.x] = a[threadIdx.x * 100000];  //! fault, out of bounds?
}
