// The hardware's barriers as a class, older than <cuda/barrier>.
#pragma once
#include "cuda_awbarrier_primitives.h"

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
