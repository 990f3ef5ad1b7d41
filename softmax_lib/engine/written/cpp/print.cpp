// printf, as CUDA has it: into a buffer of the launch, which is shown when the launch is over.
#include <algorithm>
#include <cstdarg>
#include <cstdio>
#include <cstring>
#include <string>

#include "worker.h"

namespace emulator {

constexpr size_t MOST_PRINTED = 1 << 20;  // bytes, as many as a GPU keeps unless it is told otherwise

// What printf was given, passed on by reference on every machine.
struct Given {
    va_list list;
};

// One "%-8.3f": its parts, and where it ends.
struct Conversion {
    std::string flags;      // and width and precision
    bool is_long = false;   // 8 bytes
    char type = 0;
    size_t end = 0;
};

static bool is_any_of(const char* those, char letter) { return letter && strchr(those, letter); }

// The conversion behind the '%' before `at`. A '*' takes an argument of its own.
static Conversion parse_conversion(const std::string& format, size_t at, Given& given) {
    Conversion found;
    const char* text = format.c_str();
    for (; is_any_of("-+ #0123456789.*", text[at]); at++) {
        if (text[at] == '*') found.flags += std::to_string(va_arg(given.list, int));
        else found.flags += text[at];
    }
    for (; is_any_of("hljzt", text[at]); at++) found.is_long |= text[at] != 'h';
    found.type = text[at];
    found.end = std::min(at + 1, format.size());
    return found;
}

template <class T>
static std::string format_one(const Conversion& as, const char* length, T value) {
    std::string format = "%" + as.flags + length + as.type;
    int bytes = std::max(snprintf(nullptr, 0, format.c_str(), value), 0);
    std::string text(static_cast<size_t>(bytes) + 1, '\0');
    snprintf(&text[0], text.size(), format.c_str(), value);
    text.pop_back();
    return text;
}

// A pointer that leads nowhere is a fault of the kernel's. Nothing is allocated while that may come.
static std::string text_at(Worker& worker, const char* from) {
    const volatile char* letters = from;
    size_t bytes = 0;
    worker.leave_runtime();
    while (bytes < MOST_PRINTED && letters[bytes]) bytes++;
    worker.in_runtime = true;
    return std::string(from, bytes);
}

static std::string format_next(Worker& worker, const Conversion& as, Given& given) {
    switch (as.type) {
        case 'd': case 'i':
            return format_one(as, "ll", as.is_long ? va_arg(given.list, long long) : va_arg(given.list, int));
        case 'u': case 'o': case 'x': case 'X':
            return format_one(as, "ll", as.is_long ? va_arg(given.list, unsigned long long) : va_arg(given.list, unsigned));
        case 'e': case 'E': case 'f': case 'F': case 'g': case 'G': case 'a': case 'A':
            return format_one(as, "", va_arg(given.list, double));
        case 'c': return format_one(as, "", va_arg(given.list, int));
        case 'p': return format_one(as, "", va_arg(given.list, void*));
        case 's': return format_one(as, "", text_at(worker, va_arg(given.list, const char*)).c_str());
        case 'n': va_arg(given.list, void*); return "";   // which CUDA does not have
        case '%': return "%";
        default: return "%" + as.flags + (as.type ? std::string(1, as.type) : "");
    }
}

static int print(Worker& worker, const char* given_format, Given& given) {
    std::string format = text_at(worker, given_format), text;
    int count = 0;
    for (size_t at = 0; at < format.size();) {
        size_t next = std::min(format.find('%', at), format.size());
        text.append(format, at, next - at);
        if (next == format.size()) break;
        Conversion as = parse_conversion(format, next + 1, given);
        text += format_next(worker, as, given);
        count += as.type != '%';
        at = as.end;
    }
    worker.launch->keep_printed(text);
    return count;
}

// Whole texts only. A GPU drops the oldest; here the first stay, which say what went wrong first.
void Launch::keep_printed(const std::string& text) {
    std::lock_guard<std::mutex> lock(printing);
    if (!unprinted && printed.size() + text.size() <= MOST_PRINTED) printed += text;
    else unprinted++;
}

}  // namespace emulator

// Its locks a signal must not find taken.
int emulator_print(const char* format, ...) {
    Entered worker(CALLER);
    if (worker->launch->unprinted) {
        worker->launch->unprinted++;
        return 0;
    }
    emulator::Given given;
    va_start(given.list, format);
    int count = emulator::print(*worker, format, given);
    va_end(given.list);
    return count;
}
