#pragma once

// A file of torch.save: a pickle, and the storages of its tensors beside it.

#include <ATen/core/Tensor.h>

#include <filesystem>
#include <map>
#include <memory>
#include <string>
#include <utility>

#include "data/formats/pickled_tensor.h"

namespace caffe2::serialize {
class PyTorchStreamReader;
}

namespace quest::data {

class TorchArchive {
 public:
  // Throws FormatError without the file's name, and for what torch before 1.6 wrote.
  explicit TorchArchive(const std::filesystem::path& path, std::uint64_t longest_pickle);
  ~TorchArchive();
  TorchArchive(const TorchArchive&) = delete;
  TorchArchive& operator=(const TorchArchive&) = delete;

  [[nodiscard]] const std::string& pickle() const { return pickle_; }
  // A view of its storage, which is read when it is first asked for.
  [[nodiscard]] at::Tensor tensor(const PickledTensor& view);

 private:
  [[nodiscard]] std::uint64_t record_size(const std::string& name, std::uint64_t largest);
  [[nodiscard]] std::string read_text(const std::string& name, std::uint64_t largest);
  [[nodiscard]] at::Tensor read_storage(const PickledTensor& wanted);

  std::uint64_t file_size_;
  std::unique_ptr<caffe2::serialize::PyTorchStreamReader> archive_;
  std::string pickle_;
  std::map<std::pair<std::string, ElementType>, at::Tensor> storages_;
};

// Whether a file begins as a zip archive does.
[[nodiscard]] bool is_zip(const std::filesystem::path& path);

// A copy of a tensor whose content the pickle holds itself.
[[nodiscard]] at::Tensor tensor_inside(const PickledTensor& view);

}  // namespace quest::data
