// What Python must know of this library: names of operations, and how its structs lie in memory.
#include <cstddef>
#include <string>

#include "operations.h"
#include "program.h"

using namespace machine;

namespace {

std::string name_operations() {
    std::string names;
    for (const char* name : FLOW_NAMES) names += std::string(name) + "\n";
    for (const Operation* list : OPERATION_LISTS) {
        for (; list->name; list++) names += std::string(list->name) + "\n";
    }
    return names;
}

#define SIZE(type) text += std::string(#type " ") + std::to_string(sizeof(type)) + "\n"
#define FIELD(type, field) text += std::string(#type "." #field " ") + std::to_string(offsetof(type, field)) + "\n"

std::string describe_layout() {
    std::string text;
    SIZE(Instruction);
    FIELD(Instruction, operation); FIELD(Instruction, guard); FIELD(Instruction, guard_flip);
    FIELD(Instruction, d); FIELD(Instruction, a); FIELD(Instruction, b); FIELD(Instruction, c);
    FIELD(Instruction, p); FIELD(Instruction, q); FIELD(Instruction, s); FIELD(Instruction, s_flip);
    FIELD(Instruction, t); FIELD(Instruction, t_flip); FIELD(Instruction, bytes); FIELD(Instruction, keep);
    FIELD(Instruction, flip); FIELD(Instruction, variant); FIELD(Instruction, offset); FIELD(Instruction, target);
    FIELD(Instruction, site);
    SIZE(Fixed);
    FIELD(Fixed, row); FIELD(Fixed, bank); FIELD(Fixed, value);
    SIZE(Counts);
    FIELD(Counts, requests); FIELD(Counts, lanes); FIELD(Counts, bytes); FIELD(Counts, sectors);
    FIELD(Counts, wavefronts); FIELD(Counts, conflicts);
    SIZE(Executed);
    FIELD(Executed, warps); FIELD(Executed, lanes);
    SIZE(Bank);
    FIELD(Bank, bytes); FIELD(Bank, size);
    SIZE(Array);
    FIELD(Array, address); FIELD(Array, bytes); FIELD(Array, memory);
    SIZE(Launch);
    FIELD(Launch, code); FIELD(Launch, fixed); FIELD(Launch, banks); FIELD(Launch, arrays); FIELD(Launch, code_count);
    FIELD(Launch, fixed_count); FIELD(Launch, array_count); FIELD(Launch, site_count); FIELD(Launch, rows);
    FIELD(Launch, cleared); FIELD(Launch, predicates); FIELD(Launch, shared_base); FIELD(Launch, shared_bytes); FIELD(Launch, local_bytes);
    FIELD(Launch, grid); FIELD(Launch, block); FIELD(Launch, cluster); FIELD(Launch, is_cooperative); FIELD(Launch, first_rank);
    SIZE(Status);
    FIELD(Status, block); FIELD(Status, address); FIELD(Status, finished); FIELD(Status, ending); FIELD(Status, at);
    FIELD(Status, thread); FIELD(Status, space);
    return text;
}

}  // namespace

extern "C" {

const char* machine_operations() {
    static const std::string names = name_operations();
    return names.c_str();
}
const char* machine_layout() {
    static const std::string text = describe_layout();
    return text.c_str();
}
}
