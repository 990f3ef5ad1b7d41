// Running a launch: each warp from one parting or meeting of its lanes to the next.
#include "run.h"

#include <algorithm>
#include <string>

#include "lanes.h"
#include "numbers.h"
#include "waiting.h"

namespace machine {

namespace {

// Instructions of a warp until others of its block, or other lanes of its own, get their turn; beside one that is
// followed others get it after each straight line.
constexpr int64_t WARP_TURN = 1 << 20, GROUP_TURN = 1 << 14, FOLLOWED_TURN = 1;
// Instructions of a block, or a cluster, until another one begins beside it: it may wait for that one.
constexpr int64_t BLOCK_TURN = 1 << 25;
// The same of a cooperative launch, where others are often what a block waits for.
constexpr int64_t COOPERATIVE_WARP_TURN = 1 << 10, COOPERATIVE_TURN = 1 << 16;
constexpr size_t MOST_RESIDENT = 256;

const std::vector<Operation>& operations() {
    static const std::vector<Operation> all = [] {
        std::vector<Operation> found(FLOW_OPERATIONS, Operation{nullptr, nullptr});
        for (const Operation* list : OPERATION_LISTS) {
            for (; list->name; list++) found.push_back(*list);
        }
        return found;
    }();
    return all;
}

// Instructions up to one of these are executed one after the other, by the same lanes.
bool ends_line(const Instruction& i) { return i.operation < FLOW_OPERATIONS && i.operation != NOTHING; }

// Before each instruction of the warp that is followed.
void note(Follow& follow, Warp& w) {
    follow.found = &w;
    if (follow.done == follow.most) throw Stop{FOLLOWED, 0, 0, GLOBAL};
    follow.done++;
    follow.trace.push_back(w.at);
}

// Until its lanes all wait or have ended, or its turn is over. Returns the instructions done.
template <bool IS_FOLLOWED> int64_t run_warp(Runner& runner, Warp& w) {
    const Instruction* code = runner.code.data();
    const Handler* run = runner.handlers.data();
    int64_t done = 0, of_group = 0;
    size_t slept = 0;
    w.sleeps = false;
    const int64_t most = runner.warp_turn;
    while (done < most) {
        if (!w.active && !pick(w)) break;
        if (w.sleeps && ++slept > w.ready.size()) break;
        if ((of_group > GROUP_TURN || w.sleeps) && !w.ready.empty()) {  // others may be what these wait for
            w.sleeps = false;
            w.ready.insert(w.ready.begin(), {w.at, w.active});
            pick(w);
            of_group = 0;
        }
        int32_t begin = w.at;
        uint32_t active = w.active, lanes;
        Executed& begun = runner.begun[static_cast<size_t>(begin)];
        begun.warps++;
        begun.lanes += static_cast<uint64_t>(count_of(active));
        const Instruction* i = code + begin;
        for (;; i++, w.at++) {
            if constexpr (IS_FOLLOWED) note(runner.follow, w);
            lanes = lanes_of(w, *i, active);
            if (ends_line(*i)) break;
            if (lanes && i->operation != NOTHING) run[w.at](w, *i, lanes);
        }
        int64_t steps = w.at - begin + 1;
        done += steps;
        of_group += steps;
        runner.clock += static_cast<uint64_t>(steps);
        flow(runner, w, *i, lanes & active);
    }
    return done;
}

void stop(Runner& runner, const Block& block, const Warp& w, Stop found) {
    runner.status.ending = found.ending;
    runner.status.block = block.number;
    runner.status.address = found.address;
    runner.status.at = w.at;
    runner.status.thread = w.index * WARP + found.lane;
    runner.status.space = found.space;
}

// Nobody can go on: a lane that waits is named, first one that does not wait for the block.
void stop_stuck(Runner& runner, Cluster& cluster) {
    for (bool is_of_block : {false, true}) {
        for (auto& block : cluster.blocks) {
            for (Warp& w : block->warps) {
                bool is_whole = w.whole_goes_on >= 0;
                uint32_t those = is_of_block ? (is_whole ? w.live : w.at_barrier) : w.waiting;
                if (!those) continue;
                int lane = first_of(those);
                w.at = (is_whole ? w.whole_goes_on : w.goes_on[lane]) - 1;
                return stop(runner, *block, w, {STUCK, lane, 0, GLOBAL});
            }
        }
    }
}

// Where nobody can go on: lanes that named others which wait where branches meet do without them, as an H200 does.
bool go_on_without(Cluster& cluster) {
    bool is_any = false;
    for (auto& block : cluster.blocks) {
        for (Warp& w : block->warps) {
            release(w, w.waiting & (lanes_with(w.waits, Wait::CONVERGENCE) | lanes_with(w.waits, Wait::MEETING)));
            is_any = is_any || !w.ready.empty();
        }
    }
    return is_any;
}

struct Turn {
    int64_t done = 0;       // instructions
    bool sleeps = true;     // whether all that did some ended where they let others go first
};

// One turn for each warp that has something to do, up to a fault.
Turn run_cluster(Runner& runner, Cluster& cluster) {
    Turn turn;
    for (auto& block : cluster.blocks) {
        for (Warp& w : block->warps) {
            if (!w.active && w.ready.empty()) continue;
            try {
                bool is_followed = w.index == runner.follow.warp && block->number == runner.follow.block;
                turn.done += is_followed ? run_warp<true>(runner, w) : run_warp<false>(runner, w);
                if (is_followed && !w.live) {
                    runner.follow.found = nullptr;
                    throw Stop{FOLLOWED, 0, 0, GLOBAL};
                }
            } catch (const Stop& found) {
                stop(runner, *block, w, found);
                return {turn.done, false};
            }
            turn.sleeps = turn.sleeps && (w.sleeps || !w.live);
        }
    }
    if (!turn.done && cluster.live) {
        turn.sleeps = false;
        if (!go_on_without(cluster)) stop_stuck(runner, cluster);
    }
    return turn;
}

// Goes on for some `instructions`; the status tells whether all is done.
void advance(Runner& runner, int64_t instructions) {
    OwnArithmetic ours;
    std::unique_ptr<Cluster> spare;
    const int64_t most = runner.launch.is_cooperative ? COOPERATIVE_TURN : BLOCK_TURN;
    while (instructions > 0 && runner.status.ending == RUNNING) {
        if (runner.resident.empty()) {
            if (runner.next_cluster == runner.cluster_count) {
                runner.status.ending = DONE;
                break;
            }
            runner.resident.push_back(start_next(runner, std::move(spare)));
        }
        std::unique_ptr<Cluster> cluster = std::move(runner.resident.front());
        runner.resident.pop_front();
        Turn turn;
        int64_t done = 0;
        while (cluster->live && done < most && done < instructions && runner.status.ending == RUNNING) {
            turn = run_cluster(runner, *cluster);
            done += turn.done;
            if (turn.sleeps) break;
        }
        instructions -= done;
        if (!cluster->live) {
            spare = std::move(cluster);
            continue;
        }
        cluster->turn += done;
        if (cluster->turn < most && !turn.sleeps) {
            runner.resident.push_front(std::move(cluster));
            continue;
        }
        cluster->turn = 0;
        runner.resident.push_back(std::move(cluster));
        bool has_room = runner.launch.is_cooperative || runner.resident.size() < MOST_RESIDENT;
        if (runner.next_cluster < runner.cluster_count && has_room) runner.resident.push_front(start_next(runner, nullptr));
    }
    runner.status.finished = runner.finished;
}

Stand stand_of(const Warp& w) {
    if (!w.live) return {w.at, HAS_ENDED};
    if (w.active) return {w.at, GOES_ON};
    if (!w.ready.empty()) return {w.ready.back().at, GOES_ON};
    if (w.whole_goes_on >= 0) return {w.whole_goes_on - 1, static_cast<int32_t>(Wait::BLOCK)};
    int lane = first_of(w.waiting ? w.waiting : w.at_barrier);
    return {w.goes_on[lane] - 1, static_cast<int32_t>(w.waits[lane])};
}

}  // namespace

}  // namespace machine

// ---- what Python calls

using namespace machine;

namespace {

std::string name_operations() {
    std::string names;
    for (const char* name : FLOW_NAMES) names += std::string(name) + "\n";
    for (size_t n = FLOW_OPERATIONS; n < operations().size(); n++) names += std::string(operations()[n].name) + "\n";
    return names;
}

}  // namespace

extern "C" {

Runner* machine_open(const Launch* launch) {
    OwnArithmetic ours;
    auto* runner = new Runner();
    runner->launch = *launch;
    runner->code.assign(launch->code, launch->code + launch->code_count);
    for (const Instruction& i : runner->code) runner->handlers.push_back(operations()[i.operation].handler_of(i));
    runner->fixed.assign(launch->fixed, launch->fixed + launch->fixed_count);
    runner->banks.assign(launch->banks, launch->banks + BANKS);
    runner->arrays.assign(launch->arrays, launch->arrays + launch->array_count);
    runner->last_array.resize(launch->site_count);
    runner->counts.resize(launch->site_count * (launch->array_count + MORE_COLUMNS));
    runner->begun.resize(launch->code_count + 1);
    runner->barriers.resize(launch->code_count);
    runner->cluster_count = total(launch->grid) / total(launch->cluster);
    runner->warp_turn = launch->is_cooperative ? COOPERATIVE_WARP_TURN : WARP_TURN;
    if (launch->is_watched) watch_launch(*runner);
    return runner;
}

void machine_run(Runner* runner, int64_t instructions, Status* status) {
    advance(*runner, instructions);
    *status = runner->status;
}

// Counts by site and array; how often each instruction was executed; barriers met, by instruction.
void machine_read(const Runner* runner, Counts* counts, Executed* executed, uint64_t* barriers) {
    OwnArithmetic ours;
    std::copy(runner->counts.begin(), runner->counts.end(), counts);
    std::copy(runner->barriers.begin(), runner->barriers.end(), barriers);
    Executed now{};
    for (size_t n = 0; n < runner->code.size(); n++) {
        now.warps += runner->begun[n].warps;
        now.lanes += runner->begun[n].lanes;
        executed[n] = now;
        if (ends_line(runner->code[n])) now = Executed{};
    }
}

// The launch begins at a block, without those before it, to follow one of its warps.
void machine_follow(Runner* runner, uint64_t block, int32_t warp) {
    OwnArithmetic ours;
    runner->next_cluster = block / total(runner->launch.cluster);
    runner->resident.resize(1);
    runner->resident[0] = start_next(*runner, std::move(runner->resident[0]));
    runner->warp_turn = FOLLOWED_TURN;
    runner->follow = {block, warp, 0, ~uint64_t{0}, nullptr, std::move(runner->follow.trace)};
}

// Goes on, some `instructions` of all warps, until the followed warp has done `steps`: how it stands then, and what it did.
void machine_look(Runner* runner, int64_t instructions, uint64_t steps, Look* look, Status* status) {
    Follow& follow = runner->follow;
    follow.most = steps;
    follow.trace.clear();
    machine_run(runner, instructions, status);
    look->trace = follow.trace.data();
    look->traced = static_cast<uint32_t>(follow.trace.size());
    if (status->ending != FOLLOWED || !follow.found) return;
    Warp& w = *follow.found;
    const Instruction& i = runner->code[static_cast<size_t>(w.at)];
    look->rows = w.row(0);
    look->predicates = w.predicate;
    look->active = w.active;
    look->lanes = lanes_of(w, i, w.active) & w.active;
    if (i.site >= 0) addresses_of(w, i, look->addresses);
    for (const Warp& one : w.block->warps) look->warps[one.index] = stand_of(one);
}

// The followed warp does the instruction that it is at, and no other warp does anything.
void machine_step(Runner* runner, Status* status) {
    OwnArithmetic ours;
    Warp& w = *runner->follow.found;
    const Instruction& i = runner->code[static_cast<size_t>(w.at)];
    uint32_t lanes = lanes_of(w, i, w.active);
    try {
        if (ends_line(i)) flow(*runner, w, i, lanes & w.active);
        else if (lanes && i.operation != NOTHING) runner->handlers[static_cast<size_t>(w.at)](w, i, lanes);
    } catch (const Stop& found) {
        stop(*runner, *w.block, w, found);
    }
    *status = runner->status;
}

void machine_close(Runner* runner) { delete runner; }

// One a line.
const char* machine_operations() {
    static const std::string names = name_operations();
    return names.c_str();
}
}
