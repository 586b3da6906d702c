#pragma once

// A kernel of PTX, decoded. Constants and special registers are registers too, set before the first instruction, so
// that every operand is the number of a register.

#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace quest::testing::ptx {

class Warp;
struct Instruction;
using Execute = void (*)(Warp&, const Instruction&);

inline constexpr int kNone = -1;
// Generic addresses of shared memory and of parameters begin here, where no program has memory of its own.
inline constexpr std::uint64_t kSharedWindow = 1ULL << 60U;
inline constexpr std::uint64_t kParameterWindow = 1ULL << 61U;

struct Instruction {
  Execute execute = nullptr;
  int guard = kNone;
  bool guard_negated = false;
  bool meets = false;         // whether lanes that take part wait for each other
  int meeting_mask = kNone;   // the register with the lanes that do; none: all of the warp
  std::vector<int> operands;  // those of vectors one after the other
  std::int64_t offset = 0;    // of the address
  int vector = 1;             // elements of the first operand, and those that a store moves
  int target = kNone;         // of a branch
  std::string_view text;
};

enum class Special { thread, block_x, block_y, block_z, threads, blocks_x, blocks_y };

struct Parameter {
  std::size_t offset = 0;
  std::size_t size = 0;
};

struct Kernel {
  std::string name;
  std::vector<Instruction> instructions;
  std::vector<Parameter> parameters;
  std::size_t static_shared = 0;
  int registers = 0;
  std::map<std::uint64_t, int> constants;
  std::map<Special, int> specials;

  // Where the shared memory begins that a launch asks for.
  [[nodiscard]] std::size_t dynamic_shared() const { return (static_shared + 127) / 128 * 128; }
};

// One file of PTX. A kernel is decoded when it is first asked for.
class Module {
 public:
  explicit Module(std::string text) : text_(std::move(text)) {}
  const Kernel& kernel(const std::string& name);

 private:
  std::string text_;
  std::map<std::string, Kernel> kernels_;
};

}  // namespace quest::testing::ptx
