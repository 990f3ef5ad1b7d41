// Loads and stores with hints, fences, and which memory an address belongs to.
#pragma once
#include <stddef.h>
#include <stdint.h>

#include <new>  // a kernel can construct something in place without it

#include "kernel_interface.h"
#include "meetings.h"

namespace emulator {
template <class T> struct Same { typedef T type; };
template <class T> using same = typename Same<T>::type;  // keeps T from being deduced twice
}  // namespace emulator

// ---- cache hints change no value

#define EMULATOR_LOAD(name) template <class T> EMULATOR_INLINE T name(const T* address) { return *address; }
EMULATOR_LOAD(__ldg) EMULATOR_LOAD(__ldca) EMULATOR_LOAD(__ldcg) EMULATOR_LOAD(__ldcs) EMULATOR_LOAD(__ldlu)
#define EMULATOR_STORE(name) \
    template <class T> EMULATOR_INLINE void name(T* address, emulator::same<T> value) { *address = value; }
EMULATOR_STORE(__stwb) EMULATOR_STORE(__stcg) EMULATOR_STORE(__stcs)

// These two pass every cache by, as volatile accesses do: by them threads wait for one another.
template <class T> EMULATOR_INLINE T __ldcv(const T* address) {
    emulator::Unit<sizeof(T)> unit = *reinterpret_cast<const volatile emulator::Unit<sizeof(T)>*>(address);
    T value;
    __builtin_memcpy(&value, &unit, sizeof(T));
    return value;
}
template <class T> EMULATOR_INLINE void __stwt(T* address, emulator::same<T> value) {
    emulator::Unit<sizeof(T)> unit;
    __builtin_memcpy(&unit, &value, sizeof(T));
    *reinterpret_cast<volatile emulator::Unit<sizeof(T)>*>(address) = unit;
}

// ---- fences

// On one OS thread a block's memory is always in order; between blocks the hardware's own is enough. By its
// order an x-ray knows the one that is for a block alone.
EMULATOR_INLINE void __threadfence_block() { __atomic_thread_fence(__ATOMIC_ACQ_REL); }
EMULATOR_INLINE void __threadfence_cluster() { __atomic_thread_fence(__ATOMIC_SEQ_CST); }
EMULATOR_INLINE void __threadfence() { __atomic_thread_fence(__ATOMIC_SEQ_CST); }
EMULATOR_INLINE void __threadfence_system() { __atomic_thread_fence(__ATOMIC_SEQ_CST); }

// ---- whose memory; __isConstant() is not here, since constants lie among the other variables

namespace emulator {

// A thread's own variables lie in its stack, and nothing else does.
EMULATOR_INLINE bool is_local(const void* pointer) {
    return (uintptr_t)pointer / STACK_BYTES == (uintptr_t)__builtin_frame_address(0) / STACK_BYTES;
}

// Addresses of shared memory count from here: 32 bits are enough for them, as kernels expect.
EMULATOR_UNSEEN char* shared_origin() {
    alignas(128) static __shared__ char emulator_hidden_origin[128];
    return emulator_hidden_origin;
}

}  // namespace emulator

EMULATOR_INLINE unsigned __isLocal(const void* pointer) { return emulator::is_local(pointer); }
EMULATOR_INLINE unsigned __isGlobal(const void* pointer) {
    return !emulator_is_shared(pointer) && !emulator::is_local(pointer);
}

EMULATOR_INLINE size_t __cvta_generic_to_shared(const void* pointer) {
    return (uint32_t)((const char*)pointer - emulator::shared_origin());
}
EMULATOR_INLINE void* __cvta_shared_to_generic(size_t address) {
    return emulator::shared_origin() + (int32_t)address;
}
EMULATOR_INLINE size_t __cvta_generic_to_global(const void* pointer) { return (size_t)pointer; }
EMULATOR_INLINE void* __cvta_global_to_generic(size_t address) { return (void*)address; }
EMULATOR_INLINE size_t __cvta_generic_to_local(const void* pointer) { return (size_t)pointer; }
EMULATOR_INLINE void* __cvta_local_to_generic(size_t address) { return (void*)address; }

// ---- clusters of blocks

namespace emulator {
// By axis.
template <class Along>
EMULATOR_INLINE dim3 each_axis(Along along) { return dim3(along(0), along(1), along(2)); }
EMULATOR_INLINE dim3 cluster_size() { return each_axis(emulator_cluster_size); }
}  // namespace emulator

EMULATOR_INLINE dim3 __clusterDim() { return emulator::cluster_size(); }
EMULATOR_INLINE unsigned __clusterSizeInBlocks() {
    dim3 size = emulator::cluster_size();
    return size.x * size.y * size.z;
}
EMULATOR_INLINE dim3 __clusterRelativeBlockIdx() {
    return emulator::each_axis([](int axis) { return emulator_block_index(axis) % emulator_cluster_size(axis); });
}
EMULATOR_INLINE unsigned __clusterRelativeBlockRank() {
    dim3 size = emulator::cluster_size(), index = __clusterRelativeBlockIdx();
    return index.x + size.x * (index.y + size.y * index.z);
}
EMULATOR_INLINE dim3 __clusterIdx() {
    return emulator::each_axis([](int axis) { return emulator_block_index(axis) / emulator_cluster_size(axis); });
}
EMULATOR_INLINE dim3 __clusterGridDimInClusters() {
    return emulator::each_axis([](int axis) { return emulator_grid_size(axis) / emulator_cluster_size(axis); });
}
EMULATOR_INLINE void __cluster_barrier_arrive(EMULATOR_PLACE) { emulator::arrive_at_cluster({file, line}); }
EMULATOR_INLINE void __cluster_barrier_arrive_relaxed(EMULATOR_PLACE) { emulator::arrive_at_cluster({file, line}); }
EMULATOR_INLINE void __cluster_barrier_wait(EMULATOR_PLACE) { emulator::wait_for_cluster({file, line}); }

// The same place in the shared memory of another block of the cluster.
EMULATOR_INLINE void* __cluster_map_shared_rank(const void* pointer, unsigned rank, EMULATOR_PLACE) {
    if (!emulator_is_shared(pointer)) emulator_fail("only an address of shared memory can be mapped to another block", {file, line});
    void* there = emulator_map_shared(pointer, rank);
    if (!there) emulator_fail("the cluster has no block of this rank", {file, line});
    return there;
}
EMULATOR_INLINE unsigned __cluster_query_shared_rank(const void* pointer) { return emulator_shared_rank(pointer); }
EMULATOR_INLINE unsigned __isClusterShared(const void* pointer) { return emulator_is_shared(pointer); }
// The block's own, and no other block's of the cluster.
EMULATOR_INLINE unsigned __isCtaShared(const void* pointer) {
    return emulator_is_shared(pointer) && emulator_shared_rank(pointer) == __clusterRelativeBlockRank();
}
EMULATOR_INLINE unsigned __isShared(const void* pointer) { return __isCtaShared(pointer); }
