// Which kernel family serves which problem on a GPU: asked without one.

#include <gtest/gtest.h>

#include <array>
#include <functional>
#include <string>

#include "kernels/cuda/choice.h"

namespace quest::kernels::cuda {
namespace {

constexpr int kHopper = 90;

Input dense(std::int64_t heads, std::int64_t rows, std::int64_t dim) {
  return {.data = nullptr, .batch_stride = heads * rows * dim, .head_stride = rows * dim, .row_stride = dim};
}

AttentionProblem quest_problem(std::int64_t length, std::int64_t dim) {
  AttentionProblem p;
  p.batch = 2;
  p.heads = p.kv_heads = 4;
  p.queries = p.longest_queries = p.keys = p.longest_keys = length;
  p.dim = p.value_dim = dim;
  p.type = StorageType::bfloat16;
  p.q = p.k = p.v = dense(4, length, dim);
  p.normalize_k = true;
  return p;
}

FamilyChoice choose(const AttentionProblem& p) { return choose_family(p, kHopper); }

TEST(CudaChoice, ShortSequencesOfPlainQuestStayInSharedMemory) {
  for (const std::int64_t dim : {16, 32, 64, 80, 96, 128}) {
    EXPECT_EQ(choose(quest_problem(128, dim)).family, KernelFamily::whole_head) << dim;
  }
  auto causal = quest_problem(256, 64);
  causal.causal = Causal::lower_right;
  EXPECT_EQ(choose(causal).family, KernelFamily::whole_head);
}

TEST(CudaChoice, HeadsTooLargeForSharedMemoryAreTiled) {
  for (const std::int64_t dim : {16, 40, 64, 128}) {
    EXPECT_EQ(choose(quest_problem(16384, dim)).family, KernelFamily::long_sequence) << dim;
  }
}

TEST(CudaChoice, CausalHeadsStayInSharedMemoryForLonger) {
  auto p = quest_problem(600, 64);
  EXPECT_EQ(choose(p).family, KernelFamily::long_sequence);
  p.causal = Causal::top_left;
  EXPECT_EQ(choose(p).family, KernelFamily::whole_head);
}

TEST(CudaChoice, SharedKeyHeadsAreTiled) {
  auto p = quest_problem(197, 64);
  p.kv_heads = 2;
  EXPECT_EQ(choose(p).family, KernelFamily::long_sequence);
}

TEST(CudaChoice, RowsThatTorchWidensAreLeftToFloat32) {
  EXPECT_TRUE(takes_float32(20, 20, true));
  EXPECT_TRUE(takes_float32(20, 64, false));
  EXPECT_TRUE(takes_float32(64, 1, false));
  EXPECT_FALSE(takes_float32(20, 20, false));
  EXPECT_FALSE(takes_float32(64, 64, true));
  EXPECT_FALSE(takes_float32(64, 96, true));
}

TEST(CudaChoice, OtherGpusRunTheTiledKernel) {
  for (const int capability : {80, 86, 89, 100, 120}) {
    const FamilyChoice choice = choose_family(quest_problem(197, 64), capability);
    EXPECT_EQ(choice.family, KernelFamily::portable) << capability;
    EXPECT_NE(choice.reason.find("Hopper"), std::string_view::npos) << choice.reason;
  }
}

struct Change {
  std::string word;  // that the reason must contain
  std::function<void(AttentionProblem&)> apply;
};

TEST(CudaChoice, EveryOptionLeadsToTheTiledKernelAndIsNamed) {
  static constexpr float kGain = 1.0F;
  static constexpr std::int64_t kLengths[] = {0, 1, 2};
  const std::array changes{
      Change{"float32", [](AttentionProblem& p) { p.type = StorageType::float32; }},
      Change{"mask", [](AttentionProblem& p) { p.mask.type = MaskType::boolean; }},
      Change{"dropout", [](AttentionProblem& p) { p.dropout_p = 0.1F; }},
      Change{"lengths", [](AttentionProblem& p) { p.key_lengths = kLengths; }},
      Change{"packed", [](AttentionProblem& p) { p.cu_seqlens_q = p.cu_seqlens_k = kLengths; }},
      Change{"formulation", [](AttentionProblem& p) { p.gain = &kGain; }},
      Change{"formulation", [](AttentionProblem& p) { p.normalize_q = true; }},
      Change{"formulation", [](AttentionProblem& p) { p.normalize_k = false; }},
      Change{"scale", [](AttentionProblem& p) { p.scale = 0.0F; }},
      Change{"dimension", [](AttentionProblem& p) { p.value_dim = 32; }},
      Change{"dimension", [](AttentionProblem& p) { p.dim = p.value_dim = 256; }},
      Change{"last query",
             [](AttentionProblem& p) {
               p.queries = 100;
               p.causal = Causal::lower_right;
             }},
      Change{"nothing", [](AttentionProblem& p) { p.queries = p.keys = 0; }},
      Change{"single key", [](AttentionProblem& p) { p.keys = 1; }},
      Change{"16 bytes", [](AttentionProblem& p) { p.v.row_stride = 65; }},
      Change{"key heads",
             [](AttentionProblem& p) {
               p.queries = p.keys = 100;
               p.kv_heads = 2;
             }},
  };
  for (const Change& change : changes) {
    AttentionProblem p = quest_problem(197, 64);
    change.apply(p);
    const FamilyChoice choice = choose(p);
    EXPECT_EQ(choice.family, KernelFamily::portable) << change.word;
    EXPECT_NE(choice.reason.find(change.word), std::string_view::npos) << choice.reason;
  }
}

TEST(CudaChoice, EnginesHaveDifferentNames) {
  EXPECT_NE(name(KernelFamily::whole_head), name(KernelFamily::long_sequence));
  EXPECT_NE(name(KernelFamily::long_sequence), name(KernelFamily::portable));
}

}  // namespace
}  // namespace quest::kernels::cuda
