// One thread of a group does something for all.
#pragma once
#include "partitions.h"

namespace cooperative_groups {

// Which thread that is is up to the GPU; here it is the first.
template <class Group, class Function, class... Arguments>
__forceinline__ void invoke_one(const Group& group, Function&& function, Arguments&&... arguments) {
    if (group.thread_rank() == 0) function(static_cast<Arguments&&>(arguments)...);
}

// An overload for each number of arguments, since nothing can follow a list of any length.
#define EMULATOR_INVOKE(types, parameters, arguments)                                                   \
    template <class Group, class Function EMULATOR_LIST types>                                          \
    __forceinline__ auto invoke_one_broadcast(const Group& group, Function&& function EMULATOR_LIST parameters, \
                                              EMULATOR_PLACE) {                                         \
        typedef std::decay_t<decltype(function arguments)> Result;                                      \
        static_assert(!std::is_void_v<Result>, "what returns nothing is for invoke_one()");             \
        Result result{};                                                                                \
        if (group.thread_rank() == 0) result = function arguments;                                      \
        return group.shfl(result, 0, file, line);                                                       \
    }
#define EMULATOR_LIST(...) __VA_OPT__(, ) __VA_ARGS__
EMULATOR_INVOKE((), (), ())
EMULATOR_INVOKE((class A), (A&& a), (static_cast<A&&>(a)))
EMULATOR_INVOKE((class A, class B), (A&& a, B&& b), (static_cast<A&&>(a), static_cast<B&&>(b)))
EMULATOR_INVOKE((class A, class B, class C), (A&& a, B&& b, C&& c),
                (static_cast<A&&>(a), static_cast<B&&>(b), static_cast<C&&>(c)))
#undef EMULATOR_LIST
#undef EMULATOR_INVOKE

}  // namespace cooperative_groups
