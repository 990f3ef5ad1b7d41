// What an instruction can do: functions by name. A decoded program names them by their place in the list.
#pragma once
#include "warp.h"

namespace machine {

using Handler = void (*)(Warp& warp, const Instruction& instruction, uint32_t lanes);

struct Operation {
    const char* name;
    Handler run;  // whatever the instruction says
    Handler (*choose)(const Instruction&) = nullptr;  // or one that does the same sooner, for what an instruction leaves out

    Handler handler_of(const Instruction& instruction) const { return choose ? choose(instruction) : run; }
};

// Lists end with an operation without a name.
extern const Operation FLOAT_OPERATIONS[], WHOLE_OPERATIONS[], WIDE_OPERATIONS[], HALF_OPERATIONS[],
    CONVERSIONS[], WARP_OPERATIONS[], MEMORY_OPERATIONS[], MBARRIER_OPERATIONS[], TYPED_NUMBERS[], TYPED_BITS[];

constexpr const Operation* OPERATION_LISTS[] = {FLOAT_OPERATIONS, WHOLE_OPERATIONS, WIDE_OPERATIONS, HALF_OPERATIONS,
                                                CONVERSIONS, WARP_OPERATIONS, MEMORY_OPERATIONS, MBARRIER_OPERATIONS, TYPED_NUMBERS,
                                                TYPED_BITS};

// What changes where a warp goes on; flow.cpp does these.
enum FlowOperation : uint16_t {
    NOTHING, BRANCH, BRANCH_IF_DIVERGED, BRANCH_IF_CONVERGED, BRANCH_INDEXED, CALL, RETURN, EXIT,
    JOIN_BARRIER, LEAVE_BARRIER, WARP_SYNC, COLLECT, END_COLLECT, BLOCK_BARRIER, PART, EXPECT, MEET, SYNC_NAMED,
    ARRIVE_CLUSTER, AWAIT_CLUSTER, AWAIT_PHASE, SLEEP, TRAP, NO_CODE_HERE,
    FLOW_OPERATIONS
};
constexpr const char* FLOW_NAMES[] = {
    "nothing", "branch", "branch if diverged", "branch if converged", "branch indexed", "call", "return", "exit",
    "join barrier", "leave barrier", "warp sync", "collect", "end collect", "block barrier", "part", "expect", "meet", "sync named",
    "arrive cluster", "await cluster", "await phase", "sleep", "trap", "no code here",
};

}  // namespace machine
