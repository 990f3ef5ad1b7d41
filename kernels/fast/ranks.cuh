// How blocks of the same number on several GPUs meet, in memory that all of these reach.
#pragma once

#include "settled.cuh"
#include "slots.cuh"

// Written and read by GPUs that have nothing else in common.
#ifdef __CUDACC_RTC__
__device__ inline void put(ulonglong2* to, ulonglong2 slot) {
    asm volatile("st.relaxed.sys.global.v2.u64 [%0], {%1, %2};" ::"l"(to), "l"(slot.x), "l"(slot.y)
                 : "memory");
}
__device__ inline ulonglong2 get(const ulonglong2* from) {
    ulonglong2 slot;
    asm volatile("ld.relaxed.sys.global.v2.u64 {%0, %1}, [%2];"
                 : "=l"(slot.x), "=l"(slot.y)
                 : "l"(from)
                 : "memory");
    return slot;
}
__device__ inline void put_word(unsigned long long* to, unsigned long long word) {
    asm volatile("st.relaxed.sys.global.u64 [%0], %1;" ::"l"(to), "l"(word) : "memory");
}
__device__ inline unsigned long long get_word(const unsigned long long* from) {
    unsigned long long word;
    asm volatile("ld.relaxed.sys.global.u64 %0, [%1];" : "=l"(word) : "l"(from) : "memory");
    return word;
}
__device__ inline unsigned long long now_ns() {
    unsigned long long now;
    asm volatile("mov.u64 %0, %globaltimer;" : "=l"(now));
    return now;
}
#else  // the emulator has no PTX, and one GPU
__device__ void put(ulonglong2*, ulonglong2);
__device__ ulonglong2 get(const ulonglong2*);
__device__ void put_word(unsigned long long*, unsigned long long);
__device__ unsigned long long get_word(const unsigned long long*);
__device__ unsigned long long now_ns();
#endif

// Every field is a word of a launch.
struct Ranks {
    ulonglong2* const* slots;   // of each rank, as this GPU sees them: ROOM_BLOCKS times those of `Meeting`
    unsigned long long* turns;  // of each block: how often it has met the others, and begun a row
    unsigned* rows;             // of rank 0: how many were dealt out; 0 between launches
    volatile unsigned* trouble; // for the host: 0, or 1 + the rank that did not come, and CALLED
    long long rank, ranks;      // ranks are at most a warp's lanes
    unsigned long long call;    // what is called: the same on all ranks
    unsigned long long limit;   // nanoseconds that a block waits
    long long cols;             // of the whole row
};

constexpr int ROOM_BLOCKS = 2304;  // blocks that meet at most
constexpr unsigned CALLED = 256;  // that rank is there, but called something else
constexpr unsigned TRIES = 4096;  // between two looks at the time
constexpr int MANY = 6;           // rows of each block, from which on they are dealt out

// One warp of a block that meets the blocks of the same number on other ranks. Slots are in two sets by turns, and so
// are lists: who is in one has seen that all have left the other.
struct Meeting {
    const Ranks& of;
    long long rows;
    unsigned turn, deal;         // of 16 bits
    unsigned slot_set, list_set;
    unsigned drawn = 0;
    bool lost = false;  // somebody did not come, and nobody is waited for any more

    __device__ Meeting(const Ranks& ranks, long long rows) : of(ranks), rows(rows) {
        unsigned long long kept = ranks.turns[blockIdx.x];
        turn = kept & 0xffff, slot_set = kept >> 16 & 1, list_set = kept >> 17 & 1, deal = kept >> 32;
    }
    __device__ unsigned long long turns() const {
        return (unsigned long long)deal << 32 | list_set << 17 | slot_set << 16 | turn;
    }

    // A block's: two sets of one for each rank, and one for orders; behind all of these two of WARP for each rank.
    __device__ ulonglong2* slots(int rank) const {
        return of.slots[rank] + blockIdx.x * (2 * of.ranks + 1);
    }
    __device__ ulonglong2* lists(int rank) const {
        long long block = blockIdx.x, before = ROOM_BLOCKS * (2 * of.ranks + 1);
        return of.slots[rank] + before + (2 * block + list_set) * of.ranks * WARP;
    }

    // Where there are many, rank 0 deals rows out as its blocks get ready for more, since the multiprocessors of
    // a GPU are not equally fast; blocks of the same number on other ranks follow. Drawn first, and looked at
    // when it has come.
    __device__ bool deals() const { return rows >= MANY * gridDim.x; }
    __device__ void draw() {
        deal = (deal + 1) & 0xffff;
        if (deals() && of.rank == 0 && threadIdx.x == 0) drawn = atomicAdd(of.rows, 1);
    }
    __device__ void hand_on() {
        if (!deals() || of.rank) return;
        if (threadIdx.x == 0 && drawn == rows - 1) *of.rows = 0;  // nobody asks any more
        drawn = __shfl_sync(0xffffffff, drawn, 0) + gridDim.x;
        int lane = threadIdx.x;
        if (lane > 0 && lane < of.ranks)
            put_word(order(lane), (unsigned long long)deal << 48 | drawn);
    }
    __device__ long long next(long long row) {
        if (!deals()) return row + gridDim.x;
        if (of.rank == 0) return drawn;
        unsigned long long said = get_word(order(of.rank)), begun = now_ns();
        for (unsigned tries = 1; said >> 48 != deal && !lost; tries++) {
            if (is_late(tries, begun)) lose(0);
            said = get_word(order(of.rank));
        }
        return lost ? rows : (long long)(said & 0xffffffff);
    }
    __device__ unsigned long long* order(int rank) const {
        return reinterpret_cast<unsigned long long*>(slots(rank) + 2 * of.ranks) + deal % 2;
    }

    // Whether all ranks were called for the same.
    __device__ void agree() {
        Pair heard = tell({0, __longlong_as_double((long long)of.call)});
        bool has = threadIdx.x < of.ranks && !lost;
        bool other = has && (unsigned long long)__double_as_longlong(heard.sum) != of.call;
        if (other) *of.trouble = 1 + threadIdx.x + CALLED;
        lost |= __any_sync(0xffffffff, other);
    }

    // What each lane's rank says of this turn, once all have come.
    __device__ Pair tell(Pair mine) {
        say(mine);
        return heard(turn);
    }
    __device__ void say(Pair mine) {
        turn = (turn + 1) & 0xffff, slot_set ^= 1;
        unsigned lane = threadIdx.x % WARP;
        if (lane < of.ranks && !lost)
            put(slots(lane) + slot_set * of.ranks + of.rank, slot_of(mine, turn));
    }
    __device__ Pair heard(unsigned turn) {
        unsigned lane = threadIdx.x % WARP;
        Pair said = {-INFINITY, 0};
        if (lane < of.ranks && !lost)
            said = wait(slots(of.rank) + slot_set * of.ranks + lane, turn, lane);
        lost = __any_sync(0xffffffff, lost);
        return said;
    }

    // A key of each lane to all ranks; then `hear` gets those of each rank.
    __device__ void say_key(unsigned long long key) {
        turn = (turn + 1) & 0xffff, list_set ^= 1;
        ulonglong2 mine = slot_of({0, __longlong_as_double((long long)key)}, turn);
        for (int rank = 0; rank < of.ranks && !lost; rank++)
            put(lists(rank) + of.rank * WARP + threadIdx.x % WARP, mine);
    }
    template <typename Hear> __device__ void hear_keys(unsigned turn, Hear hear) {
        for (int rank = 0; rank < of.ranks; rank++) {
            Pair said = {0, 0};
            if (!lost) said = wait(lists(of.rank) + rank * WARP + threadIdx.x % WARP, turn, rank);
            lost = __any_sync(0xffffffff, lost);
            hear((unsigned long long)__double_as_longlong(said.sum));
        }
    }

    __device__ Pair wait(const ulonglong2* slot, unsigned turn, unsigned rank) {
        ulonglong2 said = get(slot);
        unsigned long long begun = now_ns();
        for (unsigned tries = 1; said.x >> 48 != turn || said.y >> 48 != turn; tries++) {
            if (is_late(tries, begun)) {
                lose(rank);
                break;
            }
            said = get(slot);
        }
        return pair_of(said);
    }
    __device__ bool is_late(unsigned tries, unsigned long long begun) const {
        return tries % TRIES == 0 && (*of.trouble || now_ns() - begun > of.limit);
    }
    __device__ void lose(unsigned rank) {
        if (*of.trouble == 0) *of.trouble = 1 + rank;
        lost = true;
    }
};

// The threads of a block and of those that have other shards of its row.
template <int BLOCK> struct RanksTeam : BlockTeam<BLOCK> {
    Meeting& meeting;
    __device__ RanksTeam(unsigned long long* shared, Meeting& meeting)
        : BlockTeam<BLOCK>{shared}, meeting(meeting) {}
    __device__ unsigned long long sum(unsigned long long mine) const {
        return of_all(BlockTeam<BLOCK>::sum(mine), [](unsigned long long heard) {
            return group_sum<WARP>(heard);
        });
    }
    __device__ float max(float mine) const {  // of numbers that are not negative
        unsigned long long block = __float_as_uint(BlockTeam<BLOCK>::max(mine));
        return __uint_as_float((unsigned)of_all(block, [](unsigned long long heard) {
            return (unsigned long long)__float_as_uint(
                group_max<WARP>(__uint_as_float((unsigned)heard)));
        }));
    }
    template <typename Join> __device__ unsigned long long of_all(unsigned long long block, Join join) const {
        __syncthreads();  // all have read the block's
        if (threadIdx.x < WARP) {
            Pair heard = meeting.tell({0, __longlong_as_double((long long)block)});
            bool has = threadIdx.x < meeting.of.ranks;
            unsigned long long all = join(has ? (unsigned long long)__double_as_longlong(heard.sum) : 0);
            if (threadIdx.x == 0) *this->shared = all;
        }
        __syncthreads();
        return *this->shared;
    }
};

// A warp and those of other ranks that have other shards of its row.
struct RanksWarp {
    static constexpr int THREADS = WARP;
    Meeting& meeting;
    __device__ int thread() const { return threadIdx.x % WARP; }
    __device__ unsigned long long sum(unsigned long long mine) const {
        Pair heard = meeting.tell({0, __longlong_as_double((long long)group_sum<WARP>(mine))});
        bool has = threadIdx.x % WARP < meeting.of.ranks;
        return group_sum<WARP>(has ? (unsigned long long)__double_as_longlong(heard.sum) : 0);
    }
};
