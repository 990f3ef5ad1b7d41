// cluster: CLUSTER blocks per row, which tell one another their pairs through shared memory.
//   first, second, result   (rows, cols), each with a stride between its rows, in numbers
//   grid     rows * CLUSTER    block   BLOCK threads    cluster   2 to 16 blocks
//   shared   16 * SHARED * BLOCK bytes of the row, and a Pair for every warp of the cluster
//   needs    sm_90, rows that a cluster holds
//   traffic  each input read once, the result written once
//   next     more than 16 blocks per row -> grid
#include "rows.cuh"

// The same address in the shared memory of another block of the cluster.
__device__ inline unsigned address_in(int block, const void* p) {
    unsigned found;
    asm("mapa.shared::cluster.u32 %0, %1, %2;" : "=r"(found) : "r"(shared_address(p)), "r"(block));
    return found;
}

// An mbarrier that opens once so many bytes have come by `send`.
__device__ inline void expect(unsigned long long* barrier, int bytes) {
    unsigned at = shared_address(barrier);
    asm volatile("mbarrier.init.shared.b64 [%0], 1;" ::"r"(at));
    asm volatile("mbarrier.arrive.expect_tx.shared.b64 _, [%0], %1;" ::"r"(at), "r"(bytes)
                 : "memory");
    asm volatile("fence.mbarrier_init.release.cluster;");
}

__device__ inline void send(Pair pair, Pair* to, unsigned long long* barrier, int block) {
    asm volatile("st.async.shared::cluster.mbarrier::complete_tx::bytes.v2.f32"
                 " [%0], {%1, %2}, [%3];" ::"r"(address_in(block, to)),
                 "f"(pair.max), "f"(pair.sum), "r"(address_in(block, barrier))
                 : "memory");
}

__device__ inline void wait(unsigned long long* barrier) {
    asm volatile("{ .reg .pred done;\n"
                 "again: mbarrier.try_wait.parity.shared.b64 done, [%0], 0;\n"
                 "@!done bra again; }" ::"r"(shared_address(barrier))
                 : "memory");
}

template <typename Row, int CLUSTER, int BLOCK, int BLOCKS_AN_SM, typename... More>
__global__ void __launch_bounds__(BLOCK, BLOCKS_AN_SM)
softmax_cluster(const typename Row::First* first, const typename Row::Second* second,
                typename Row::Result* result, long long rows, long long cols,
                long long first_stride, long long second_stride, long long result_stride,
                More... more) {
    extern __shared__ uint4 chunks[];
    constexpr int WARPS = BLOCK / WARP;
    __shared__ Pair pairs[CLUSTER * WARPS];
    __shared__ __align__(8) unsigned long long all_here;
    int warp = threadIdx.x / WARP, lane = threadIdx.x % WARP;
    int rank = blockIdx.x % CLUSTER;
    long long row = blockIdx.x / CLUSTER;
    if (threadIdx.x == 0) expect(&all_here, sizeof(pairs));
    // No pair is sent before its receiver is ready. Relaxed: the fence of `expect` orders what
    // matters, and a release would be a fence of the whole GPU.
    asm volatile("barrier.cluster.arrive.relaxed.aligned;" ::: "memory");
    Row held(first + row * first_stride, behind(second, row * second_stride),
             result + row * result_stride, cols, threadIdx.x, rank, CLUSTER, chunks,
             more.of(row)...);
    held.load();
    Pair mine = held.template reduce<WARP>();
    asm volatile("barrier.cluster.wait.acquire.aligned;" ::: "memory");
    if (lane < CLUSTER) send(mine, &pairs[rank * WARPS + warp], &all_here, lane);
    wait(&all_here);
    held.write(mine, merge<CLUSTER * WARPS, Row::HAS_MAX>(pairs));
}
