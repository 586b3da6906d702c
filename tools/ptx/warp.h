#pragma once

// 32 lanes with their registers and places in the program. Lanes that part go on one group at a time, the one that is
// furthest behind first; where lanes have to meet, the first ones wait.

#include <bit>
#include <cstring>
#include <type_traits>

#include "tools/ptx/kernel.h"
#include "tools/ptx/memory.h"

namespace quest::testing::ptx {

inline constexpr int kLanes = 32;
inline constexpr std::uint32_t kAllLanes = 0xFFFFFFFFU;

class Block;

class Warp {
 public:
  enum class State { ready, waiting, ended };

  Warp(Block& block, std::size_t index) : block_(block), index_(index) {}

  void start();
  // Until the warp waits, ends, or has asked in vain whether it may go on. False where it did nothing but ask again.
  bool run();

  [[nodiscard]] Block& block() { return block_; }
  [[nodiscard]] std::size_t index() const { return index_; }
  [[nodiscard]] State state() const { return state_; }
  void wait() { state_ = State::waiting; }
  void go_on() { state_ = State::ready; }
  void asked_in_vain() { asks_ = true; }

  // Who touches shared memory.
  [[nodiscard]] Actor actor(std::uint8_t lane) const;
  [[nodiscard]] Actor actor(Engine engine, std::uint8_t lane) const;

  // The lanes that execute the current instruction.
  [[nodiscard]] std::uint32_t lanes() const { return lanes_; }

  template <typename Function>
  void for_each_lane(Function function) const {
    for (std::uint32_t rest = lanes_; rest != 0; rest &= rest - 1) {
      function(static_cast<std::size_t>(std::countr_zero(rest)));
    }
  }

  template <typename T>
  [[nodiscard]] T get(int number, std::size_t lane) const {
    const std::uint64_t& bits = registers_[static_cast<std::size_t>(number) * kLanes + lane];
    if constexpr (std::is_same_v<T, bool>) {
      return bits != 0;
    } else {
      T value;
      std::memcpy(&value, &bits, sizeof(T));
      return value;
    }
  }
  template <typename T>
  void set(int number, std::size_t lane, T value) {
    std::uint64_t bits = 0;
    std::memcpy(&bits, &value, sizeof(T));
    registers_[static_cast<std::size_t>(number) * kLanes + lane] = bits;
  }

  void end_lanes() { living_ &= ~lanes_; }

 private:
  void choose_lanes();
  void take_lanes_at(int place);
  [[nodiscard]] bool all_have_met(const Instruction& instruction) const;
  void step();

  Block& block_;
  std::size_t index_;
  State state_ = State::ready;
  bool asks_ = false;
  std::vector<std::uint64_t> registers_;
  std::uint32_t living_ = kAllLanes;
  std::uint32_t lanes_ = kAllLanes;
  std::uint32_t parked_ = 0;  // those that wait for others of the warp
  int place_ = 0;             // of the lanes that execute
  int places_[kLanes] = {};   // of all others
};

}  // namespace quest::testing::ptx
