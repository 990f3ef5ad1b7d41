// Blocks of a cluster tell one another pairs through shared memory.
#pragma once

#include "pairs.cuh"
#include "share.cuh"

#ifdef __CUDACC_RTC__
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
    asm volatile("st.async.shared::cluster.mbarrier::complete_tx::bytes.v4.b32"
                 " [%0], {%1, %2, %3, %4}, [%5];" ::"r"(address_in(block, to)),
                 "r"(__float_as_int(pair.max)), "r"(0), "r"(__double2loint(pair.sum)),
                 "r"(__double2hiint(pair.sum)),
                 "r"(address_in(block, barrier))
                 : "memory");
}

__device__ inline void wait(unsigned long long* barrier) {
    asm volatile("{ .reg .pred done;\n"
                 "again: mbarrier.try_wait.parity.shared.b64 done, [%0], 0;\n"
                 "@!done bra again; }" ::"r"(shared_address(barrier))
                 : "memory");
}

// All threads of a cluster meet. Relaxed: a release would be a fence of the whole GPU.
__device__ inline void arrive() {
    asm volatile("barrier.cluster.arrive.relaxed.aligned;" ::: "memory");
}
__device__ inline void depart() {
    asm volatile("barrier.cluster.wait.acquire.aligned;" ::: "memory");
}
#else  // the emulator has no PTX, and blocks alone
__device__ void expect(unsigned long long*, int);
__device__ void send(Pair, Pair*, unsigned long long*, int);
__device__ void wait(unsigned long long*);
__device__ void arrive();
__device__ void depart();
#endif
