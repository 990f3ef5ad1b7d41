// What changes where a warp goes on.
#pragma once
#include "run.h"

namespace machine {

// Does an instruction that is one of FlowOperation, for those of a warp's active lanes whose guard is true.
void flow(Runner& runner, Warp& w, const Instruction& i, uint32_t lanes);

// barriers.cpp: of a block, of a cluster, and phases of an mbarrier.
void arrive(Runner& runner, Warp& w, const Instruction& i, uint32_t lanes);
void arrive_at_cluster(Cluster& cluster, int lanes);
void await_cluster(Warp& w, uint32_t lanes);
void await_phase(Warp& w, const Instruction& i, uint32_t lanes);
void end_lanes(Runner& runner, Warp& w, uint32_t lanes);

}  // namespace machine
