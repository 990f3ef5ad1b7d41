// Signals that workers get: faults of the hardware, and the interruption of an endless loop.
//
// A handler never leaves by itself. It changes where the interrupted code goes on, and returns:
// so the system restores the signal mask and its idea of the signal stack.
#include <pthread.h>
#include <signal.h>
#include <ucontext.h>

#include <mutex>

#include "worker.h"

namespace emulator {

// ---- registers of the interrupted code

#if defined(__APPLE__) && defined(__x86_64__)
#define REGISTER_PC(context) (context)->uc_mcontext->__ss.__rip
#define REGISTER_SP(context) (context)->uc_mcontext->__ss.__rsp
#define REGISTER_LINK(context) 0
#elif defined(__APPLE__)
#define REGISTER_PC(context) (context)->uc_mcontext->__ss.__pc
#define REGISTER_SP(context) (context)->uc_mcontext->__ss.__sp
#define REGISTER_LINK(context) (context)->uc_mcontext->__ss.__lr
#elif defined(__x86_64__)
#define REGISTER_PC(context) (context)->uc_mcontext.gregs[REG_RIP]
#define REGISTER_SP(context) (context)->uc_mcontext.gregs[REG_RSP]
#define REGISTER_LINK(context) 0
#else
#define REGISTER_PC(context) (context)->uc_mcontext.pc
#define REGISTER_SP(context) (context)->uc_mcontext.sp
#define REGISTER_LINK(context) (context)->uc_mcontext.regs[30]
#endif

static Access access_of(const ucontext_t* context) {
#if defined(__linux__) && defined(__x86_64__)
    constexpr greg_t page_fault = 14, is_write = 2;
    if (context->uc_mcontext.gregs[REG_TRAPNO] != page_fault) return Access::unknown;
    return context->uc_mcontext.gregs[REG_ERR] & is_write ? Access::store : Access::load;
#else
    (void)context;
    return Access::unknown;
#endif
}

// ---- handlers

// Not so of a function's own address, which may lie on a stack too.
static bool is_behind_a_call(uintptr_t code) {
#if defined(__x86_64__)
    const uint8_t* end = reinterpret_cast<const uint8_t*>(code);
    return end[-5] == 0xe8 || end[-6] == 0xff || end[-3] == 0xff || end[-2] == 0xff;
#else
    (void)code;
    return true;
#endif
}

// The interrupted instruction; if it is in a function that the kernel has called, such as expf, the
// place of that call: the first address in the kernel's library among those it can return to.
static void find_place(Worker& worker, ucontext_t* context) {
    uintptr_t pc = REGISTER_PC(context), link = REGISTER_LINK(context), stack = REGISTER_SP(context);
    const Library& library = worker.launch->library;
    auto is_kernels = [&](uintptr_t code) { return code - library.code_low < library.code_bytes; };
    worker.interruption.pc_is_exact = is_kernels(pc);
    if (!is_kernels(pc) && is_kernels(link)) pc = link;
    auto is_on_stack = [&] { return worker.stacks.contains(stack) && !worker.stacks.is_guard(stack); };
    for (; !is_kernels(pc) && is_on_stack(); stack += sizeof(uintptr_t)) {
        uintptr_t word = *reinterpret_cast<const uintptr_t*>(stack);
        if (is_kernels(word) && is_behind_a_call(word)) pc = word;
    }
    worker.interruption.pc = reinterpret_cast<const void*>(pc);
}

static void leave_after_handler() { current_worker->leave_after_signal(); }

// The interrupted code goes on in leave_after_handler, on a stack of its own: the fiber's may be full.
static void redirect(Worker& worker, ucontext_t* context) {
    uintptr_t stack = reinterpret_cast<uintptr_t>(worker.rescue_stack.data()) + worker.rescue_stack.size();
    stack &= ~uintptr_t(15);
#if defined(__x86_64__)
    stack -= 8;  // as after a call
#endif
    worker.interruption.stack_pointer = REGISTER_SP(context);
    worker.in_runtime = true;  // from here on: the next signal must not change where this one was
    find_place(worker, context);
    REGISTER_SP(context) = stack;
    REGISTER_PC(context) = reinterpret_cast<uintptr_t>(leave_after_handler);
}

static struct sigaction previous[NSIG];

static BlackBox unshared;  // until Python shares one
static BlackBox* black_box = &unshared;

// Not where a kernel can be left: this process ends, and leaves behind what it was at.
[[noreturn]] static void end_process(int signal, const siginfo_t* info, ucontext_t* context) {
    BlackBox& box = *black_box;
    Worker* worker = current_worker;
    if (worker && worker->running && worker->launch) {
        uintptr_t address = reinterpret_cast<uintptr_t>(info->si_addr);
        find_place(*worker, context);
        box.block = worker->block->number;
        box.thread = worker->running->index;
        box.pc = offset_of(*worker, worker->interruption.pc);
        box.pc_is_exact = worker->interruption.pc_is_exact;
        box.address = info->si_code > 0 ? address : 0;
        box.is_guard = worker->stacks.is_guard(address);
    }
    box.signal = signal;
    _exit(1);
}

static void on_hardware_fault(int signal, siginfo_t* info, void* context) {
    Worker* worker = current_worker;
    if (signal == SIGABRT || !worker || !worker->running || worker->in_runtime) {
        end_process(signal, info, static_cast<ucontext_t*>(context));
    }
    worker->interruption.signal = signal;
    worker->interruption.address = reinterpret_cast<uintptr_t>(info->si_addr);
    worker->interruption.access = access_of(static_cast<ucontext_t*>(context));
    redirect(*worker, static_cast<ucontext_t*>(context));
}

// A worker whose kernel never calls the runtime again would not notice that the launch was stopped.
constexpr int KNOCK = SIGURG;  // ignored by default, so a late one does no harm

static void on_knock(int, siginfo_t*, void* context) {
    Worker* worker = current_worker;
    if (!worker || !worker->running || worker->in_runtime) return;
    if (!worker->launch->stopped) return;
    worker->interruption.signal = KNOCK;
    redirect(*worker, static_cast<ucontext_t*>(context));
}

void interrupt(std::thread& thread) { pthread_kill(thread.native_handle(), KNOCK); }

static const char FULL_STACK[] = "the local arrays overflow the stack of 512 KiB";

void Worker::leave_after_signal() {
    const Interruption& at = interruption;
    if (at.signal == KNOCK) stop_here(at.pc, at.pc_is_exact);
    if (at.signal == SIGFPE) abandon(describe_trap(*this, "integer division by zero"));
    if (at.signal == SIGILL || at.signal == SIGTRAP) abandon(describe_misaligned(*this));
    if (stacks.is_guard(at.address)) {
        abandon(describe_trap(*this, at.address <= at.stack_pointer ? FULL_STACK : STRAY_INDEX));
    }
    Fault fault = describe_access(*this, at.access, 0, at.address, at.pc);
    fault.pc_is_exact = at.pc_is_exact;
    abandon(fault);
}

// ---- installing them: only while something is launched

static const int handled[] = {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGTRAP, SIGABRT, KNOCK};
static std::mutex installing;
static int users = 0;

void install_signal_handlers() {
    std::lock_guard<std::mutex> lock(installing);
    if (users++) return;
    for (int signal : handled) {
        struct sigaction action {};
        action.sa_sigaction = signal == KNOCK ? on_knock : on_hardware_fault;
        action.sa_flags = SA_SIGINFO | SA_ONSTACK | SA_RESTART;
        sigemptyset(&action.sa_mask);
        sigaction(signal, &action, &previous[signal]);
    }
}

void remove_signal_handlers() {
    std::lock_guard<std::mutex> lock(installing);
    if (--users) return;
    for (int signal : handled) sigaction(signal, &previous[signal], nullptr);
}

// Everything else, Ctrl-C above all, goes to the threads of Python.
void prepare_thread_for_signals(Worker& worker) {
    sigset_t blocked;
    sigfillset(&blocked);
    for (int signal : handled) sigdelset(&blocked, signal);
    pthread_sigmask(SIG_SETMASK, &blocked, nullptr);
    stack_t stack{};
    stack.ss_sp = worker.signal_stack.data();
    stack.ss_size = worker.signal_stack.size();
    sigaltstack(&stack, nullptr);
}

}  // namespace emulator
