#include "eval/fingerprint.h"

#include <algorithm>
#include <cstring>

namespace quest::eval {
namespace {

class Hash {
 public:
  void add(const void* data, std::size_t size) {
    const auto* bytes = static_cast<const char*>(data);
    add(size);
    for (std::size_t i = 0; i < size; i += sizeof(std::uint64_t)) {
      std::uint64_t word = 0;
      std::memcpy(&word, bytes + i, std::min(sizeof word, size - i));
      add(word);
    }
  }
  void add(std::string_view text) { add(text.data(), text.size()); }
  void add(const at::Tensor& tensor) {
    for (const auto size : tensor.sizes()) add(static_cast<std::uint64_t>(size));
    add(static_cast<std::uint64_t>(tensor.scalar_type()));
    const auto host = tensor.cpu().contiguous();
    add(host.const_data_ptr(), host.nbytes());
  }
  [[nodiscard]] std::uint64_t value() const { return value_; }

 private:
  void add(std::uint64_t word) {
    value_ = (value_ ^ word) * 0x9e3779b97f4a7c15;
    value_ ^= value_ >> 32;
  }

  std::uint64_t value_ = 0x2545f4914f6cdd1d;
};

}  // namespace

std::uint64_t fingerprint(const torch::nn::Module& model, std::string_view text) {
  Hash hash;
  hash.add(text);
  for (const auto& entry : model.named_parameters()) {
    hash.add(entry.key());
    hash.add(entry.value());
  }
  for (const auto& entry : model.named_buffers()) {
    hash.add(entry.key());
    hash.add(entry.value());
  }
  return hash.value();
}

}  // namespace quest::eval
