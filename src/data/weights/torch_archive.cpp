#include "data/weights/torch_archive.h"

#include <ATen/ops/empty.h>
#include <caffe2/serialize/inline_container.h>

#include <array>
#include <cstring>
#include <span>
#include <string_view>

#include "data/formats/format_error.h"
#include "data/formats/input_file.h"
#include "data/weights/tensor_bytes.h"

namespace quest::data {

using caffe2::serialize::PyTorchStreamReader;

namespace {

template <typename Read>
auto naming_torch_save(const Read& read) {
  try {
    return read();
  } catch (const c10::Error& error) {
    throw FormatError("expected a file of torch.save (torch 1.6 or later): " +
                      std::string(error.what_without_backtrace()));
  }
}

}  // namespace

TorchArchive::TorchArchive(const std::filesystem::path& path, std::uint64_t longest_pickle)
    : file_size_(InputFile(path).size()) {
  naming_torch_save([&] {
    archive_ = std::make_unique<PyTorchStreamReader>(path.string());
    if (archive_->hasRecord("byteorder") && read_text("byteorder", 16) != "little") {
      throw FormatError("expected numbers in little endian order, found another");
    }
    pickle_ = read_text("data.pkl", longest_pickle);
  });
}

TorchArchive::~TorchArchive() = default;

// torch.save compresses nothing, so a record larger than its file is a trap.
std::uint64_t TorchArchive::record_size(const std::string& name, std::uint64_t largest) {
  if (!archive_->hasRecord(name)) throw FormatError("expected the record " + in_quotes(name) + " inside, found none");
  const std::uint64_t size = archive_->getRecordSize(name);
  if (size > largest) {
    throw FormatError("record " + in_quotes(name) + ": expected at most " + std::to_string(largest) + " bytes, found " +
                      std::to_string(size));
  }
  return size;
}

std::string TorchArchive::read_text(const std::string& name, std::uint64_t largest) {
  std::string text(record_size(name, largest), '\0');
  archive_->getRecord(name, text.data(), text.size());
  return text;
}

at::Tensor TorchArchive::read_storage(const PickledTensor& wanted) {
  const std::string name = "data/" + wanted.storage;
  const std::uint64_t size = record_size(name, file_size_);
  const std::uint64_t element = format_of(wanted.type).bytes;
  if (size / element != static_cast<std::uint64_t>(wanted.storage_size) || size % element != 0) {
    throw FormatError("record " + in_quotes(name) + ": expected " + std::to_string(wanted.storage_size) +
                      " elements of " + std::to_string(element) + " bytes, found " + std::to_string(size) + " bytes");
  }
  at::Tensor storage = at::empty({wanted.storage_size}, scalar_type(wanted.type));
  archive_->getRecord(name, storage.data_ptr(), size);
  check_bools(name, storage);
  return storage;
}

at::Tensor TorchArchive::tensor(const PickledTensor& view) {
  if (view.content) return tensor_inside(view);
  return naming_torch_save([&] {
    at::Tensor& storage = storages_[{view.storage, view.type}];
    if (!storage.defined()) storage = read_storage(view);
    if (storage.numel() != view.storage_size) {
      throw FormatError("its storage has another size than an earlier tensor said");
    }
    return storage.as_strided(view.shape, view.strides, view.offset);
  });
}

bool is_zip(const std::filesystem::path& path) {
  const InputFile file(path);
  std::array<char, 4> start{};
  if (file.size() < start.size()) return false;
  file.read_at(0, std::as_writable_bytes(std::span(start)));
  return std::string_view(start.data(), start.size()) == "PK\x03\x04";
}

at::Tensor tensor_inside(const PickledTensor& view) {
  if (!view.content) throw FormatError("expected a tensor whose bytes the pickle holds, found one that lies beside it");
  at::Tensor storage = at::empty({view.storage_size}, scalar_type(view.type));
  std::memcpy(storage.data_ptr(), view.content->data(), storage.nbytes());
  check_bools(view.storage, storage);
  return storage.as_strided(view.shape, view.strides, view.offset);
}

}  // namespace quest::data
