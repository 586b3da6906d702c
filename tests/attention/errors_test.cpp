// Every kind of bad input is refused with a message that names the argument, what was expected and what was given.

#include <gtest/gtest.h>
#include <torch/torch.h>

#include "quest/attention.h"

namespace quest::testing {
namespace {

struct Call {
  at::Tensor q = at::randn({2, 4, 5, 8});
  at::Tensor k = at::randn({2, 4, 7, 8});
  at::Tensor v = at::randn({2, 4, 7, 6});
  AttentionOptions options;
};

struct BadInput {
  std::string name;
  std::function<void(Call&)> spoil;
  std::vector<std::string> message_parts;
};

at::Tensor integers(const std::vector<std::int64_t>& values) { return at::tensor(values); }

void pack(Call& call) {
  call.q = at::randn({1, 4, 5, 8});
  call.k = at::randn({1, 4, 7, 8});
  call.v = at::randn({1, 4, 7, 6});
  call.options.cu_seqlens_q = integers({0, 2, 5});
  call.options.cu_seqlens_k = integers({0, 3, 7});
}

std::vector<BadInput> bad_tensors() {
  return {
      {"q_undefined", [](Call& c) { c.q = at::Tensor(); }, {"q", "undefined"}},
      {"q_of_rank_3", [](Call& c) { c.q = at::randn({4, 5, 8}); }, {"q must", "4 dim", "[4, 5, 8]"}},
      {"k_of_rank_5", [](Call& c) { c.k = at::randn({1, 2, 4, 7, 8}); }, {"k must", "4 dim", "[1, 2, 4, 7, 8]"}},
      {"v_of_rank_2", [](Call& c) { c.v = at::randn({7, 6}); }, {"v must", "4 dim", "[7, 6]"}},
      {"q_of_integers",
       [](Call& c) { c.q = c.k = c.v = at::ones({2, 4, 5, 8}, at::kLong); },
       {"q must", "float32", "int64"}},
      {"q_complex",
       [](Call& c) { c.q = c.k = c.v = at::ones({2, 4, 5, 8}, at::kComplexFloat); },
       {"q must", "float32", "complex"}},
      {"k_batch", [](Call& c) { c.k = at::randn({3, 4, 7, 8}); }, {"k must", "batch", "2", "[3, 4, 7, 8]"}},
      {"v_batch", [](Call& c) { c.v = at::randn({3, 4, 7, 6}); }, {"v must", "batch", "2", "[3, 4, 7, 6]"}},
      {"k_dim", [](Call& c) { c.k = at::randn({2, 4, 7, 9}); }, {"k must", "dim", "8", "[2, 4, 7, 9]"}},
      {"v_keys", [](Call& c) { c.v = at::randn({2, 4, 6, 6}); }, {"v must", "keys", "7", "[2, 4, 6, 6]"}},
      {"v_heads",
       [](Call& c) {
         c.v = at::randn({2, 2, 7, 6});
         c.options.enable_gqa = true;
       },
       {"v must", "heads", "4", "[2, 2, 7, 6]"}},
      {"k_heads_without_gqa",
       [](Call& c) {
         c.k = at::randn({2, 2, 7, 8});
         c.v = at::randn({2, 2, 7, 6});
       },
       {"k must", "4 heads", "got 2", "enable_gqa"}},
      {"k_heads_not_dividing",
       [](Call& c) {
         c.k = at::randn({2, 3, 7, 8});
         c.v = at::randn({2, 3, 7, 6});
         c.options.enable_gqa = true;
       },
       {"k must", "divides", "4", "got 3"}},
      {"k_type", [](Call& c) { c.k = c.k.to(at::kDouble); }, {"k must", "type of q", "float32", "float64"}},
      {"v_type", [](Call& c) { c.v = c.v.to(at::kBFloat16); }, {"v must", "type of q", "float32", "bfloat16"}},
      {"k_device", [](Call& c) { c.k = c.k.to(at::kMeta); }, {"k must", "device of q", "cpu", "meta"}},
      {"v_device", [](Call& c) { c.v = c.v.to(at::kMeta); }, {"v must", "device of q", "cpu", "meta"}},
  };
}

std::vector<BadInput> bad_masks_and_gains() {
  return {
      {"mask_of_rank_5",
       [](Call& c) { c.options.mask = at::ones({1, 2, 4, 5, 7}, at::kBool); },
       {"mask must", "4 dim", "[1, 2, 4, 5, 7]"}},
      {"mask_keys",
       [](Call& c) { c.options.mask = at::ones({5, 6}, at::kBool); },
       {"mask must", "broadcast", "[2, 4, 5, 7]", "[5, 6]", "keys"}},
      {"mask_queries",
       [](Call& c) { c.options.mask = at::ones({2, 4, 4, 7}); },
       {"mask must", "broadcast", "[2, 4, 5, 7]", "[2, 4, 4, 7]", "queries"}},
      {"mask_heads",
       [](Call& c) { c.options.mask = at::ones({3, 5, 7}); },
       {"mask must", "broadcast", "[2, 4, 5, 7]", "[3, 5, 7]", "heads"}},
      {"mask_type",
       [](Call& c) { c.options.mask = at::ones({5, 7}, at::kLong); },
       {"mask must", "bool", "float32", "int64"}},
      {"mask_device",
       [](Call& c) { c.options.mask = at::ones({5, 7}, at::TensorOptions(at::kMeta).dtype(at::kBool)); },
       {"mask must", "device of q", "cpu", "meta"}},
      {"causal_with_mask",
       [](Call& c) {
         c.options.mask = at::ones({5, 7}, at::kBool);
         c.options.is_causal = true;
       },
       {"is_causal", "mask", "both"}},
      {"gain_missing", [](Call& c) { c.options.formulation = formulations::qknorm; }, {"gain", "qknorm"}},
      {"gain_shape", [](Call& c) { c.options.gain = at::ones({5}); }, {"gain must", "4", "8", "[5]"}},
      {"gain_matrix", [](Call& c) { c.options.gain = at::ones({8, 4}); }, {"gain must", "4", "8", "[8, 4]"}},
      {"gain_of_rank_3", [](Call& c) { c.options.gain = at::ones({1, 4, 8}); }, {"gain must", "[1, 4, 8]"}},
      {"gain_type", [](Call& c) { c.options.gain = at::ones({4}, at::kLong); }, {"gain must", "float", "int64"}},
      {"gain_device",
       [](Call& c) { c.options.gain = at::ones({4}, at::kMeta); },
       {"gain must", "device of q", "cpu", "meta"}},
      {"gain_ambiguous",
       [](Call& c) {
         c.q = at::randn({2, 4, 5, 4});
         c.k = at::randn({2, 4, 7, 4});
         c.options.gain = at::ones({4});
       },
       {"gain", "[4, 1]", "[1, 4]"}},
  };
}

std::vector<BadInput> bad_numbers_and_lengths() {
  const auto lengths = [](std::vector<std::int64_t> values) {
    return [values](Call& c) { c.options.key_lengths = integers(values); };
  };
  return {
      {"dropout_one", [](Call& c) { c.options.dropout_p = 1.0; }, {"dropout_p must", "[0, 1)", "got 1"}},
      {"dropout_negative", [](Call& c) { c.options.dropout_p = -0.5; }, {"dropout_p must", "[0, 1)", "-0.5"}},
      {"dropout_nan", [](Call& c) { c.options.dropout_p = std::nan(""); }, {"dropout_p must", "[0, 1)", "nan"}},
      {"scale_infinite",
       [](Call& c) { c.options.scale = std::numeric_limits<double>::infinity(); },
       {"scale must", "finite", "inf"}},
      {"scale_nan", [](Call& c) { c.options.scale = std::nan(""); }, {"scale must", "finite", "nan"}},
      {"key_lengths_count", lengths({7, 7, 7}), {"key_lengths must", "2", "[3]"}},
      {"key_lengths_too_long", lengths({7, 8}), {"key_lengths must", "7", "got 8"}},
      {"key_lengths_negative", lengths({-1, 7}), {"key_lengths must", "0", "got -1"}},
      {"key_lengths_type",
       [](Call& c) { c.options.key_lengths = at::ones({2}); },
       {"key_lengths must", "int", "float32"}},
      {"key_lengths_rank",
       [](Call& c) { c.options.key_lengths = at::ones({2, 1}, at::kLong); },
       {"key_lengths must", "1 dim", "[2, 1]"}},
  };
}

std::vector<BadInput> bad_packing() {
  const auto packed = [](const std::function<void(Call&)>& spoil) {
    return [spoil](Call& c) {
      pack(c);
      spoil(c);
    };
  };
  return {
      {"only_cu_seqlens_q",
       packed([](Call& c) { c.options.cu_seqlens_k = at::Tensor(); }),
       {"cu_seqlens_q and cu_seqlens_k must", "together", "only cu_seqlens_q"}},
      {"only_cu_seqlens_k",
       packed([](Call& c) { c.options.cu_seqlens_q = at::Tensor(); }),
       {"cu_seqlens_q and cu_seqlens_k must", "together", "only cu_seqlens_k"}},
      {"cu_seqlens_falls",
       packed([](Call& c) { c.options.cu_seqlens_q = integers({0, 6, 5}); }),
       {"cu_seqlens_q must not decrease", "5", "6"}},
      {"cu_seqlens_k_falls",
       packed([](Call& c) { c.options.cu_seqlens_k = integers({0, 8, 7}); }),
       {"cu_seqlens_k must not decrease", "7", "8"}},
      {"cu_seqlens_start",
       packed([](Call& c) { c.options.cu_seqlens_k = integers({1, 3, 7}); }),
       {"cu_seqlens_k must start at 0", "got 1"}},
      {"cu_seqlens_end",
       packed([](Call& c) { c.options.cu_seqlens_q = integers({0, 2, 4}); }),
       {"cu_seqlens_q must end", "5", "got 4"}},
      {"cu_seqlens_counts",
       packed([](Call& c) { c.options.cu_seqlens_k = integers({0, 3, 5, 7}); }),
       {"cu_seqlens_q and cu_seqlens_k must", "same number", "3 and 4"}},
      {"cu_seqlens_type",
       packed([](Call& c) { c.options.cu_seqlens_q = at::tensor(std::vector<float>{0.0F, 5.0F}); }),
       {"cu_seqlens_q must", "int", "float32"}},
      {"cu_seqlens_rank",
       packed([](Call& c) { c.options.cu_seqlens_q = integers({0, 2, 5}).unsqueeze(0); }),
       {"cu_seqlens_q must", "1 dim", "[1, 3]"}},
      {"cu_seqlens_of_a_batch",
       [](Call& c) {
         c.options.cu_seqlens_q = integers({0, 5});
         c.options.cu_seqlens_k = integers({0, 7});
       },
       {"cu_seqlens", "batch of 1", "got batch 2"}},
      {"cu_seqlens_with_mask",
       packed([](Call& c) { c.options.mask = at::ones({5, 7}, at::kBool); }),
       {"cu_seqlens", "mask", "both"}},
      {"cu_seqlens_with_key_lengths",
       packed([](Call& c) { c.options.key_lengths = integers({7}); }),
       {"cu_seqlens", "key_lengths", "both"}},
  };
}

std::string message_of(const std::function<void()>& function) {
  try {
    function();
  } catch (const c10::Error& error) {
    return error.what_without_backtrace();
  }
  return "";
}

void expect_parts(const std::string& message, const std::vector<std::string>& parts) {
  ASSERT_FALSE(message.empty()) << "nothing was thrown";
  for (const std::string& part : parts) {
    EXPECT_NE(message.find(part), std::string::npos) << "'" << part << "' is missing in: " << message;
  }
}

class BadInputs : public ::testing::TestWithParam<BadInput> {};

TEST_P(BadInputs, AreRefusedByName) {
  Call call;
  GetParam().spoil(call);
  expect_parts(message_of([&] { (void)attention(call.q, call.k, call.v, call.options); }), GetParam().message_parts);
}

TEST_P(BadInputs, AreRefusedByTheReferenceAndTheStatisticsToo) {
  Call call;
  GetParam().spoil(call);
  call.options.path = AttentionPath::reference;
  expect_parts(message_of([&] { (void)attention_with_stats(call.q, call.k, call.v, call.options); }),
               GetParam().message_parts);
}

std::string bad_input_name(const ::testing::TestParamInfo<BadInput>& info) { return info.param.name; }

INSTANTIATE_TEST_SUITE_P(Tensors, BadInputs, ::testing::ValuesIn(bad_tensors()), bad_input_name);
INSTANTIATE_TEST_SUITE_P(MasksAndGains, BadInputs, ::testing::ValuesIn(bad_masks_and_gains()), bad_input_name);
INSTANTIATE_TEST_SUITE_P(Numbers, BadInputs, ::testing::ValuesIn(bad_numbers_and_lengths()), bad_input_name);
INSTANTIATE_TEST_SUITE_P(Packing, BadInputs, ::testing::ValuesIn(bad_packing()), bad_input_name);

TEST(Formulations, AreFoundByName) {
  EXPECT_EQ(all_formulations().size(), 8U);
  for (const Formulation& formulation : all_formulations()) {
    EXPECT_EQ(formulation_from_name(formulation.name).name, formulation.name);
  }
}

TEST(Formulations, UnknownNameListsTheKnownOnes) {
  try {
    (void)formulation_from_name("quset");
    FAIL() << "nothing was thrown";
  } catch (const std::invalid_argument& error) {
    expect_parts(error.what(), {"quset", "standard", "quest", "qnorm", "qknorm_hs", "qknorm_ds", "qknorm", "elliptical",
                                "elliptical_quest"});
  }
}

TEST(ForcedFusedPath, SaysWhyItCannotServe) {
  Call call;
  call.options.path = AttentionPath::fused;
  expect_parts(message_of([&] {
                 (void)attention(call.q.to(at::kDouble), call.k.to(at::kDouble), call.v.to(at::kDouble), call.options);
               }),
               {"fused", "float64"});
}

}  // namespace
}  // namespace quest::testing
