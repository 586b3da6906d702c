#include "data/weights/pickled_weights.h"

#include "data/formats/format_error.h"
#include "data/formats/pickled_state.h"
#include "data/weights/torch_archive.h"

namespace quest::data {
namespace {

constexpr std::uint64_t kLongestPickle = 32'000'000;
constexpr const char* kAdvice =
    ". `python3 scripts/convert_weights.py IN OUT` turns weights in any format of torch.save into safetensors; it does "
    "not "
    "execute them either";

TensorFile read_archive(const std::filesystem::path& path) {
  TorchArchive archive(path, kLongestPickle);
  TensorFile result;
  for (const auto& [name, view] : parse_pickled_state(archive.pickle())) {
    try {
      result.tensors.emplace_back(name, archive.tensor(view));
    } catch (const FormatError& error) {
      throw FormatError("tensor " + in_quotes(name) + ": " + error.what());
    }
  }
  return result;
}

}  // namespace

TensorFile load_pth(const std::filesystem::path& path) {
  return naming_file(path, [&path] {
    try {
      return read_archive(path);
    } catch (const FormatError& error) {
      throw FormatError(error.what() + std::string(kAdvice));
    }
  });
}

}  // namespace quest::data
