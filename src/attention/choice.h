#pragma once

// Which implementation serves a call, and why.

#include <string_view>

#include "attention/call.h"
#include "quest/export.h"

namespace quest {

struct PathChoice {
  AttentionPath path = AttentionPath::reference;  // fused or reference
  std::string_view reason;
};

[[nodiscard]] PathChoice choose_path(const AttentionCall& call, AttentionPath requested);

// A call with 16-bit rows that is to be computed from rows of float32, its output then rounded.
[[nodiscard]] bool takes_float32(const AttentionCall& call);

// For people: the same answer for arguments as a user gives them.
[[nodiscard]] QUEST_API PathChoice explain_path(const at::Tensor& q, const at::Tensor& k, const at::Tensor& v,
                                                const AttentionOptions& options = {});

// A vmap, grad, jvp or functionalize transform of functorch is running: values cannot be looked at.
[[nodiscard]] bool transform_is_active();

}  // namespace quest
