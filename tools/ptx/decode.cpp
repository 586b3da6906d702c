#include "tools/ptx/decode.h"

#include <algorithm>
#include <stdexcept>
#include <string>

namespace quest::testing::ptx {

bool has_part(const Name& name, std::string_view part) {
  return std::find(name.begin(), name.end(), part) != name.end();
}

void decode(const Name& name, Instruction& instruction) {
  instruction.execute = arithmetic(name, instruction);
  if (instruction.execute == nullptr) instruction.execute = conversion(name);
  if (instruction.execute == nullptr) instruction.execute = matrix_product(name, instruction);
  if (instruction.execute == nullptr) instruction.execute = group_product(name, instruction);
  if (instruction.execute == nullptr) instruction.execute = bulk_copy(name);
  if (instruction.execute == nullptr) instruction.execute = memory_access(name, instruction);
  if (instruction.execute == nullptr) instruction.execute = meeting(name, instruction);
  if (instruction.execute == nullptr) {
    throw std::runtime_error("PTX: this interpreter does not know '" + std::string(instruction.text) + "'");
  }
}

}  // namespace quest::testing::ptx
