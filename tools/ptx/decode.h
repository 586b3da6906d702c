#pragma once

// From the name of an instruction ("setp.lt.s32", cut at its points) to the function that executes it.

#include <string_view>
#include <vector>

#include "tools/ptx/kernel.h"

namespace quest::testing::ptx {

using Name = std::vector<std::string_view>;

// Sets what of an instruction follows from its name. Throws where it is unknown.
void decode(const Name& name, Instruction& instruction);

// Null where the name is not among theirs.
Execute arithmetic(const Name& name, const Instruction& instruction);
Execute conversion(const Name& name);
Execute matrix_product(const Name& name, Instruction& instruction);
Execute group_product(const Name& name, Instruction& instruction);
Execute bulk_copy(const Name& name);
Execute memory_access(const Name& name, Instruction& instruction);
Execute meeting(const Name& name, Instruction& instruction);

// Whether one of the parts is this.
bool has_part(const Name& name, std::string_view part);

}  // namespace quest::testing::ptx
