#include "data/weights/pickled_weights.h"

#include <ATen/ops/empty.h>
#include <c10/util/Exception.h>
#include <caffe2/serialize/inline_container.h>

#include <map>
#include <string>

#include "data/formats/format_error.h"
#include "data/formats/input_file.h"
#include "data/formats/pickled_state.h"
#include "data/weights/tensor_bytes.h"

namespace quest::data {
namespace {

using caffe2::serialize::PyTorchStreamReader;

constexpr std::uint64_t kLongestPickle = 32'000'000;
constexpr const char* kAdvice =
    ". `python3 scripts/convert_weights.py IN OUT` turns weights in any format of torch.save into safetensors; it does "
    "not "
    "execute them either";

// torch.save compresses nothing, so a record larger than its file is a trap.
std::uint64_t record_size(PyTorchStreamReader& archive, const std::string& name, std::uint64_t largest) {
  if (!archive.hasRecord(name)) throw FormatError("expected the record " + in_quotes(name) + " inside, found none");
  const std::uint64_t size = archive.getRecordSize(name);
  if (size > largest) {
    throw FormatError("record " + in_quotes(name) + ": expected at most " + std::to_string(largest) + " bytes, found " +
                      std::to_string(size));
  }
  return size;
}

std::string read_text(PyTorchStreamReader& archive, const std::string& name, std::uint64_t largest) {
  std::string text(record_size(archive, name, largest), '\0');
  archive.getRecord(name, text.data(), text.size());
  return text;
}

at::Tensor read_storage(PyTorchStreamReader& archive, const PickledTensor& wanted, std::uint64_t file_size) {
  const std::string name = "data/" + wanted.storage;
  const std::uint64_t size = record_size(archive, name, file_size);
  const std::uint64_t element = format_of(wanted.type).bytes;
  if (size / element != static_cast<std::uint64_t>(wanted.storage_size) || size % element != 0) {
    throw FormatError("record " + in_quotes(name) + ": expected " + std::to_string(wanted.storage_size) +
                      " elements of " + std::to_string(element) + " bytes, found " + std::to_string(size) + " bytes");
  }
  at::Tensor storage = at::empty({wanted.storage_size}, scalar_type(wanted.type));
  archive.getRecord(name, storage.data_ptr(), size);
  check_bools(name, storage);
  return storage;
}

TensorFile read_archive(const std::filesystem::path& path) {
  const std::uint64_t file_size = InputFile(path).size();
  PyTorchStreamReader archive(path.string());
  if (archive.hasRecord("byteorder") && read_text(archive, "byteorder", 16) != "little") {
    throw FormatError("expected numbers in little endian order, found another");
  }
  std::map<std::pair<std::string, ElementType>, at::Tensor> storages;
  TensorFile result;
  for (const auto& [name, view] : parse_pickled_state(read_text(archive, "data.pkl", kLongestPickle))) {
    at::Tensor& storage = storages[{view.storage, view.type}];
    if (!storage.defined()) storage = read_storage(archive, view, file_size);
    if (storage.numel() != view.storage_size) {
      throw FormatError("tensor " + in_quotes(name) + ": its storage has another size than an earlier tensor said");
    }
    result.tensors.emplace_back(name, storage.as_strided(view.shape, view.strides, view.offset));
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
    } catch (const c10::Error& error) {
      throw FormatError("expected a file of torch.save (torch 1.6 or later): " +
                        std::string(error.what_without_backtrace()) + kAdvice);
    }
  });
}

}  // namespace quest::data
