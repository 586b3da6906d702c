#include "tests/kernels/ptx/habits.h"

namespace quest::testing::ptx {
namespace {

constexpr int kThreads = 96;

__device__ unsigned shared_address(const void* pointer) {
  return static_cast<unsigned>(__cvta_generic_to_shared(pointer));
}

template <int barrier, int threads>
__device__ void named_barrier() {
  asm volatile("bar.sync %0, %1;" ::"n"(barrier), "n"(threads) : "memory");
}

__device__ void start_copy(float* to, const float* from) {
  asm volatile("cp.async.ca.shared.global [%0], [%1], 4, 4;" ::"r"(shared_address(to)), "l"(from) : "memory");
}

__device__ void await_copies() { asm volatile("cp.async.commit_group;\ncp.async.wait_group 0;" ::: "memory"); }

__device__ unsigned set_up(unsigned long long* barrier, int arrivals) {
  const unsigned at = shared_address(barrier);
  if (threadIdx.x == 0) asm volatile("mbarrier.init.shared::cta.b64 [%0], %1;" ::"r"(at), "r"(arrivals) : "memory");
  __syncthreads();
  return at;
}

// For the first phase of a barrier in shared memory.
__device__ void wait_at(unsigned barrier) {
  asm volatile(
      "{ .reg .pred done;\nagain: mbarrier.test_wait.parity.shared::cta.b64 done, [%0], 0;\n@!done bra again; }" ::"r"(
          barrier)
      : "memory");
}

// Reads what the next warp wrote.
template <bool meets>
__global__ void exchange_between_warps(float* data) {
  __shared__ float values[kThreads];
  const int i = static_cast<int>(threadIdx.x);
  values[i] = data[i];
  if constexpr (meets) __syncthreads();
  data[i] = values[(i + 32) % kThreads];
}

// Writes again what the next warp may still be reading.
template <bool meets>
__global__ void write_again(float* data) {
  __shared__ float values[kThreads];
  const int i = static_cast<int>(threadIdx.x);
  values[i] = data[i];
  __syncthreads();
  data[i] = values[(i + 32) % kThreads];
  if constexpr (meets) __syncthreads();
  values[i] = 0.0F;
}

template <bool meets>
__global__ void exchange_between_lanes(float* data) {
  __shared__ volatile float values[kThreads];
  const int i = static_cast<int>(threadIdx.x);
  values[i] = data[i];
  asm volatile("fence.proxy.async.shared::cta;" ::: "memory");  // orders nothing between lanes
  if constexpr (meets) __syncwarp();
  data[i] = values[i ^ 1];
}

// Warps 0 and 1 meet; the third one reads as well.
template <bool third_meets>
__global__ void meet_in_pairs(float* data) {
  __shared__ float values[kThreads];
  const int i = static_cast<int>(threadIdx.x);
  values[i] = data[i];
  if (i < 64) {
    named_barrier<1, 64>();
    data[i] = values[i ^ 32];
  }
  if constexpr (third_meets) __syncthreads();
  if (i >= 64) data[i] = values[i - 64];
}

enum class Copies { awaited_and_met, awaited, met };

template <Copies copies>
__global__ void copy_for_others(float* data) {
  __shared__ float values[kThreads];
  const int i = static_cast<int>(threadIdx.x);
  start_copy(values + i, data + i);
  if constexpr (copies != Copies::met) await_copies();
  if constexpr (copies != Copies::awaited) __syncthreads();
  data[i] = values[(i + 1) % kThreads];
}

// One barrier in shared memory at which all arrive when their copies are there; only those who wait may read.
template <bool waits>
__global__ void arrive_after_copies(float* data) {
  __shared__ float values[kThreads];
  __shared__ unsigned long long barrier;
  const int i = static_cast<int>(threadIdx.x);
  const unsigned at = set_up(&barrier, kThreads);
  start_copy(values + i, data + i);
  asm volatile("cp.async.mbarrier.arrive.noinc.shared::cta.b64 [%0];" ::"r"(at) : "memory");
  if constexpr (waits) wait_at(at);
  data[i] = values[(i + 40) % kThreads];
}

// The first lane of each warp arrives for all.
template <bool meets>
__global__ void arrive_for_the_warp(float* data) {
  __shared__ float values[kThreads];
  __shared__ unsigned long long barrier;
  const int i = static_cast<int>(threadIdx.x);
  const unsigned at = set_up(&barrier, kThreads / 32);
  values[i] = data[i];
  if constexpr (meets) __syncwarp();
  if (i % 32 == 0) asm volatile("mbarrier.arrive.shared::cta.b64 _, [%0];" ::"r"(at) : "memory");
  wait_at(at);
  data[i] = values[(i + 40) % kThreads];
}

enum class Adding { fenced_and_awaited, not_fenced, not_awaited };

// The copy engine adds what the lanes of each warp stored, and the lanes store again.
template <Adding adding>
__global__ void add_by_engine(float* data) {
  __shared__ __align__(16) int values[kThreads];
  const int i = static_cast<int>(threadIdx.x);
  values[i] = 0;
  if constexpr (adding != Adding::not_fenced) asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
  __syncwarp();
  if (i % 32 == 0) {
    asm volatile(
        "cp.reduce.async.bulk.global.shared::cta.bulk_group.add.s32 [%0], [%1], 128;\ncp.async.bulk.commit_group;" ::
            "l"(data + i),
        "r"(shared_address(values + i))
        : "memory");
    if constexpr (adding != Adding::not_awaited) asm volatile("cp.async.bulk.wait_group.read 0;" ::: "memory");
  }
  __syncwarp();
  values[i] = i;
}

__global__ void write_past_the_end(float* data) { data[threadIdx.x + 1] = 0.0F; }

__global__ void leave_shared_memory(float* data) {
  __shared__ float values[kThreads];
  values[threadIdx.x + 64] = data[threadIdx.x];
  __syncthreads();
  data[threadIdx.x] = values[threadIdx.x];
}

__global__ void read_two_at_an_odd_place(float* data) {
  const float2 pair = *reinterpret_cast<const float2*>(data + 1);
  data[threadIdx.x] = pair.x + pair.y;
}

__global__ void wait_for_nobody(float* data) {
  if (threadIdx.x < 32) named_barrier<1, 64>();
  data[threadIdx.x] = 0.0F;
}

__global__ void shuffle_with_half(float* data) {
  float value = data[threadIdx.x];
  if (threadIdx.x % 2 == 0) {
    value += __shfl_xor_sync(0xFFFFFFFFU, value, 2);
  } else {
    value -= __shfl_xor_sync(0xFFFFFFFFU, value, 4);
  }
  data[threadIdx.x] = value;
}

// Lanes that part and take part in the same sums later.
__global__ void part_and_meet(float* data) {
  const int i = static_cast<int>(threadIdx.x);
  float value = data[i];
  for (int k = 0; k < i % 5; ++k) value += 1.0F;
  if (i % 3 == 0) value = -value;
  __syncwarp();
  for (int mask = 16; mask > 0; mask /= 2) value += __shfl_xor_sync(0xFFFFFFFFU, value, mask);
  data[i] = value;
}

template <void (*kernel)(float*)>
void launch(float* data) {
  kernel<<<1, kThreads>>>(data);
}

constexpr const char* kUnordered = "nothing orders the two";

}  // namespace

const std::vector<Habit>& habits() {
  static const std::vector<Habit> all{
      {"WarpsExchange", launch<exchange_between_warps<true>>, ""},
      {"WarpsExchangeTooEarly", launch<exchange_between_warps<false>>, kUnordered},
      {"WriteAgain", launch<write_again<true>>, ""},
      {"WriteAgainTooEarly", launch<write_again<false>>, kUnordered},
      {"LanesExchange", launch<exchange_between_lanes<true>>, ""},
      {"LanesExchangeTooEarly", launch<exchange_between_lanes<false>>, kUnordered},
      {"ThirdWarpMeetsThePair", launch<meet_in_pairs<true>>, ""},
      {"ThirdWarpDoesNotMeetThePair", launch<meet_in_pairs<false>>, kUnordered},
      {"CopiesAwaitedAndMet", launch<copy_for_others<Copies::awaited_and_met>>, ""},
      {"CopiesAwaitedOnly", launch<copy_for_others<Copies::awaited>>, kUnordered},
      {"CopiesNotAwaited", launch<copy_for_others<Copies::met>>, "an engine started by"},
      {"CopiesArrive", launch<arrive_after_copies<true>>, ""},
      {"NobodyWaitsForCopies", launch<arrive_after_copies<false>>, kUnordered},
      {"OneArrivesForTheWarp", launch<arrive_for_the_warp<true>>, ""},
      {"OneArrivesForTheWarpTooEarly", launch<arrive_for_the_warp<false>>, kUnordered},
      {"AddByEngine", launch<add_by_engine<Adding::fenced_and_awaited>>, ""},
      {"AddByEngineWithoutFence", launch<add_by_engine<Adding::not_fenced>>, "without a fence"},
      {"AddByEngineWithoutWaiting", launch<add_by_engine<Adding::not_awaited>>, "an engine started by"},
      {"PastTheEnd", launch<write_past_the_end>, "384 bytes into a buffer of 384"},
      {"PastSharedMemory", launch<leave_shared_memory>, "4 bytes of shared memory at 384 of 384"},
      {"OddAddress", launch<read_two_at_an_odd_place>, "is no multiple of 8"},
      {"WaitForNobody", launch<wait_for_nobody>, "waits for ever at a barrier"},
      {"ShuffleWithHalf", launch<shuffle_with_half>, "lanes wait for each other at different places"},
      {"PartAndMeet", launch<part_and_meet>, ""},
  };
  return all;
}

}  // namespace quest::testing::ptx
