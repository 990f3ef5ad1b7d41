// The hardware's barriers as plain functions.
#pragma once
#include "../mbarrier.h"

typedef uint64_t __mbarrier_t;
typedef uint64_t __mbarrier_token_t;

EMULATOR_INLINE constexpr uint32_t __mbarrier_maximum_count() { return (1u << 14) - 1; }
EMULATOR_INLINE void __mbarrier_init(__mbarrier_t* barrier, uint32_t expected) {
    *barrier = emulator::new_mbarrier(expected);
}
EMULATOR_INLINE void __mbarrier_inval(__mbarrier_t*) {}
EMULATOR_INLINE __mbarrier_token_t __mbarrier_arrive(__mbarrier_t* barrier, EMULATOR_PLACE) {
    return emulator::arrive(barrier, 1, 0, 0, {file, line});
}
EMULATOR_INLINE __mbarrier_token_t __mbarrier_arrive_and_drop(__mbarrier_t* barrier, EMULATOR_PLACE) {
    return emulator::arrive(barrier, 1, 1, 0, {file, line});
}
EMULATOR_INLINE bool __mbarrier_test_wait(__mbarrier_t* barrier, __mbarrier_token_t token, EMULATOR_PLACE) {
    return emulator::is_over_soon(barrier, emulator::is_odd_phase(token), {file, line});
}
EMULATOR_INLINE bool __mbarrier_test_wait_parity(__mbarrier_t* barrier, bool is_odd, EMULATOR_PLACE) {
    return emulator::is_over_soon(barrier, is_odd, {file, line});
}
EMULATOR_INLINE bool __mbarrier_try_wait(__mbarrier_t* barrier, __mbarrier_token_t token, uint32_t, EMULATOR_PLACE) {
    return emulator::is_over_soon(barrier, emulator::is_odd_phase(token), {file, line});
}
EMULATOR_INLINE bool __mbarrier_try_wait_parity(__mbarrier_t* barrier, bool is_odd, uint32_t, EMULATOR_PLACE) {
    return emulator::is_over_soon(barrier, is_odd, {file, line});
}
// How many were missing when the token's thread arrived, itself among them. The lanes of a GPU's warp
// arrive together, and those of the emulator one after the other.
EMULATOR_INLINE uint32_t __mbarrier_token_pending_count(__mbarrier_token_t token) {
    return emulator::unpack(token).missing;
}
