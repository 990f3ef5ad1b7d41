// The hardware's barriers as plain functions and as a class, older than <cuda/barrier>.
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

namespace nvcuda::experimental {

class awbarrier {
public:
    class arrival_token {
    public:
        arrival_token() = default;
        __forceinline__ uint32_t pending_count() const { return __mbarrier_token_pending_count(token_); }

    private:
        explicit __forceinline__ arrival_token(uint64_t token) : token_(token) {}
        uint64_t token_;
        friend awbarrier;
    };

    awbarrier() = default;
    awbarrier(const awbarrier&) = delete;
    awbarrier& operator=(const awbarrier&) = delete;

    __forceinline__ arrival_token arrive(EMULATOR_PLACE) { return arrival_token(__mbarrier_arrive(&word_, file, line)); }
    __forceinline__ arrival_token arrive_and_drop(EMULATOR_PLACE) {
        return arrival_token(__mbarrier_arrive_and_drop(&word_, file, line));
    }
    __forceinline__ void wait(arrival_token token, EMULATOR_PLACE) {
        emulator::wait_for_phase(&word_, emulator::is_odd_phase(token.token_), {file, line});
    }
    __forceinline__ void arrive_and_wait(EMULATOR_PLACE) { wait(arrive(file, line), file, line); }
    __forceinline__ bool timed_wait(arrival_token token, uint32_t, EMULATOR_PLACE) {
        return __mbarrier_test_wait(&word_, token.token_, file, line);
    }
    __forceinline__ bool timed_wait_parity(bool is_odd, uint32_t, EMULATOR_PLACE) {
        return __mbarrier_test_wait_parity(&word_, is_odd, file, line);
    }
    __forceinline__ bool try_wait(arrival_token token, uint32_t, EMULATOR_PLACE) {
        return __mbarrier_test_wait(&word_, token.token_, file, line);
    }
    __forceinline__ bool try_wait_parity(bool is_odd, uint32_t, EMULATOR_PLACE) {
        return __mbarrier_test_wait_parity(&word_, is_odd, file, line);
    }
    static constexpr __forceinline__ uint32_t max() { return __mbarrier_maximum_count(); }

private:
    uint64_t word_;
    friend void init(awbarrier*, uint32_t);
    friend void inval(awbarrier*);
};

__forceinline__ void init(awbarrier* barrier, uint32_t expected) { __mbarrier_init(&barrier->word_, expected); }
__forceinline__ void inval(awbarrier*) {}

}  // namespace nvcuda::experimental
