#include "data/formats/safetensors_index.h"

#include <algorithm>
#include <cstring>
#include <limits>
#include <nlohmann/json.hpp>
#include <set>
#include <utility>

#include "data/formats/format_error.h"

namespace quest::data {
namespace {

constexpr const char* kMetadataKey = "__metadata__";

// Receives the header's JSON piece by piece, so that nothing but tensors and texts is ever stored, however deep or long
// the file makes it.
class HeaderReader {
 public:
  explicit HeaderReader(std::uint64_t data_size) : data_size_(data_size) {}

  [[nodiscard]] SafetensorsIndex take() { return std::move(index_); }

  bool null() { refuse("null"); }
  bool boolean(bool value) { refuse(value ? "true" : "false"); }
  bool number_integer(std::int64_t value) { refuse(std::to_string(value)); }
  bool number_float(double /*value*/, const std::string& text) { refuse(text); }
  bool binary(nlohmann::json::binary_t& /*value*/) { refuse("bytes"); }

  bool number_unsigned(std::uint64_t value) {
    if (place_ == Place::shape) {
      if (value > static_cast<std::uint64_t>(std::numeric_limits<std::int64_t>::max())) refuse(std::to_string(value));
      shape_.push_back(static_cast<std::int64_t>(value));
    } else if (place_ == Place::offsets && offsets_.size() < 2) {
      offsets_.push_back(value);
    } else {
      refuse(std::to_string(value));
    }
    return true;
  }

  bool string(std::string& value) {
    if (place_ == Place::metadata) {
      index_.metadata[key_] = value;
    } else if (place_ == Place::tensor && key_ == "dtype") {
      type_ = value;
    } else {
      refuse("the text " + in_quotes(value));
    }
    return true;
  }

  bool start_object(std::size_t /*elements*/) {
    if (place_ == Place::outside) {
      place_ = Place::top;
    } else if (place_ == Place::top) {
      place_ = name_ == kMetadataKey ? Place::metadata : Place::tensor;
      keys_.clear();
      shape_.clear();
      offsets_.clear();
    } else {
      refuse("an object");
    }
    return true;
  }

  bool end_object() {
    if (place_ == Place::tensor) add_tensor();
    place_ = place_ == Place::top ? Place::outside : Place::top;
    return true;
  }

  bool start_array(std::size_t /*elements*/) {
    if (place_ == Place::tensor && key_ == "shape") {
      place_ = Place::shape;
    } else if (place_ == Place::tensor && key_ == "data_offsets") {
      place_ = Place::offsets;
    } else {
      refuse("an array");
    }
    return true;
  }

  bool end_array() {
    place_ = Place::tensor;
    return true;
  }

  bool key(std::string& value) {
    if (place_ == Place::top) {
      name_ = value;
      if (!names_.insert(name_).second) fail("the name " + in_quotes(name_) + " stands twice in the header");
      return true;
    }
    key_ = value;
    if (!keys_.insert(key_).second) fail(where() + " stands twice");
    return true;
  }

  bool parse_error(std::size_t position, const std::string& /*token*/, const nlohmann::json::exception& /*error*/) {
    fail("the header is not JSON in UTF-8: byte " + std::to_string(position) + " of it breaks the rules");
  }

 private:
  enum class Place { outside, top, metadata, tensor, shape, offsets };

  [[noreturn]] static void fail(const std::string& reason) { throw FormatError(reason); }

  [[nodiscard]] std::string where() const {
    return place_ == Place::top ? in_quotes(name_) : in_quotes(key_) + " of " + in_quotes(name_);
  }

  [[nodiscard]] std::string expected() const {
    switch (place_) {
      case Place::outside:
        return "the header: expected an object";
      case Place::top:
        return where() + ": expected an object";
      case Place::metadata:
        return where() + ": expected a text";
      case Place::shape:
        return where() + ": expected sizes from 0 to 2^63-1";
      case Place::offsets:
        return where() + ": expected two offsets from 0 to 2^64-1";
      case Place::tensor:
        break;
    }
    return where() + ": expected \"dtype\" as a text, \"shape\" and \"data_offsets\" as arrays, and nothing else";
  }

  [[noreturn]] void refuse(const std::string& found) const { fail(expected() + ", found " + found); }

  [[nodiscard]] const ElementFormat& format() const {
    const auto* const found = std::ranges::find(kElementFormats, type_, &ElementFormat::name);
    if (found != kElementFormats.end()) return *found;
    std::string names;
    for (const ElementFormat& format : kElementFormats) names += (names.empty() ? "" : ", ") + std::string(format.name);
    fail("tensor " + in_quotes(name_) + ": expected one of the types " + names + ", found " + in_quotes(type_));
  }

  // Sizes of 0 count as 1, so that no product of the sizes, strides among them, can be too large.
  [[nodiscard]] std::uint64_t bytes_of_shape(std::uint64_t element) const {
    auto bytes = static_cast<std::int64_t>(element);
    bool empty = false;
    for (const std::int64_t size : shape_) {
      empty = empty || size == 0;
      if (__builtin_mul_overflow(bytes, std::max<std::int64_t>(size, 1), &bytes)) {
        fail("tensor " + in_quotes(name_) + ": expected a shape of less than 2^63 bytes, found a larger one");
      }
    }
    return empty ? 0 : static_cast<std::uint64_t>(bytes);
  }

  void add_tensor() {
    const std::string tensor = "tensor " + in_quotes(name_);
    if (keys_.size() != 3 || offsets_.size() != 2) {
      fail(tensor + ": expected \"dtype\", \"shape\" and two \"data_offsets\", found only some of them");
    }
    const std::uint64_t begin = offsets_.front();
    const std::uint64_t end = offsets_.back();
    const std::string range = "bytes " + std::to_string(begin) + " to " + std::to_string(end);
    if (begin > end || end > data_size_) {
      fail(tensor + ": expected offsets that rise and end within the " + std::to_string(data_size_) +
           " bytes after the header, found " + range + "; is the file cut off?");
    }
    const ElementFormat& type = format();
    if (const std::uint64_t bytes = bytes_of_shape(type.bytes); bytes != end - begin) {
      fail(tensor + ": its shape and type need " + std::to_string(bytes) + " bytes, its offsets give it " + range);
    }
    index_.entries.push_back({.name = name_, .type = type.type, .shape = shape_, .begin = begin, .end = end});
  }

  std::uint64_t data_size_;
  SafetensorsIndex index_;
  Place place_ = Place::outside;
  std::string name_;  // of the tensor, or kMetadataKey
  std::string key_;   // inside of it
  std::set<std::string> names_;
  std::set<std::string> keys_;  // of a tensor: none but "dtype", "shape" and "data_offsets" pass
  std::string type_;
  std::vector<std::int64_t> shape_;
  std::vector<std::uint64_t> offsets_;
};

// The format allows neither overlaps nor holes: every byte belongs to one tensor.
void check_cover(const std::vector<SafetensorsEntry>& entries, std::uint64_t data_size) {
  std::uint64_t position = 0;
  for (const SafetensorsEntry& entry : entries) {
    if (entry.begin != position) {
      throw FormatError("tensor " + in_quotes(entry.name) + " begins at byte " + std::to_string(entry.begin) +
                        ", expected it at byte " + std::to_string(position) + ", where the one before it ends: " +
                        (entry.begin < position ? "the tensors overlap" : "the bytes between belong to no tensor"));
    }
    position = entry.end;
  }
  if (position != data_size) {
    throw FormatError("the tensors end at byte " + std::to_string(position) + ", expected at byte " +
                      std::to_string(data_size) + ", the end of the file");
  }
}

}  // namespace

std::uint64_t safetensors_header_length(std::span<const std::byte> start, std::uint64_t file_size) {
  if (file_size < kSafetensorsPrefix || start.size() < kSafetensorsPrefix) {
    throw FormatError("expected at least 8 bytes, found " + std::to_string(file_size));
  }
  std::uint64_t length = 0;
  std::memcpy(&length, start.data(), kSafetensorsPrefix);
  if (length > kLongestSafetensorsHeader) {
    throw FormatError("expected a header of at most 100000000 bytes, the file announces " + std::to_string(length) +
                      "; is it a safetensors file?");
  }
  if (length > file_size - kSafetensorsPrefix) {
    throw FormatError("the file announces a header of " + std::to_string(length) + " bytes and has only " +
                      std::to_string(file_size - kSafetensorsPrefix) + " after the first 8; is it cut off?");
  }
  return length;
}

SafetensorsIndex parse_safetensors_header(std::string_view header, std::uint64_t data_size) {
  // The JSON parser takes a zero byte for the end of its input and skips what may stand before the object.
  if (const auto zero = header.find('\0'); zero != std::string_view::npos) {
    throw FormatError("the header is not JSON in UTF-8: byte " + std::to_string(zero + 1) + " of it is zero");
  }
  if (!header.starts_with('{')) {
    throw FormatError("expected a header that begins with {, found " + in_quotes(header.substr(0, 8)));
  }
  HeaderReader reader(data_size);
  nlohmann::json::sax_parse(header, &reader);
  SafetensorsIndex index = reader.take();
  std::ranges::sort(index.entries, {}, [](const SafetensorsEntry& entry) { return std::pair(entry.begin, entry.end); });
  check_cover(index.entries, data_size);
  return index;
}

std::string safetensors_start(const SafetensorsIndex& index) {
  nlohmann::json header = nlohmann::json::object();
  if (!index.metadata.empty()) header[kMetadataKey] = index.metadata;
  for (const SafetensorsEntry& entry : index.entries) {
    if (entry.name == kMetadataKey || header.contains(entry.name)) {
      throw std::invalid_argument("expected tensors with different names, none of them __metadata__; got " +
                                  in_quotes(entry.name) + (entry.name == kMetadataKey ? "" : " twice"));
    }
    header[entry.name] = {
        {"dtype", format_of(entry.type).name}, {"shape", entry.shape}, {"data_offsets", {entry.begin, entry.end}}};
  }
  std::string text;
  try {
    text = header.dump();
  } catch (const nlohmann::json::type_error&) {
    throw std::invalid_argument("expected names of tensors and metadata in UTF-8, got other bytes");
  }
  text.resize((text.size() + 7) / 8 * 8, ' ');
  const std::uint64_t length = text.size();
  std::string start(kSafetensorsPrefix, '\0');
  std::memcpy(start.data(), &length, kSafetensorsPrefix);
  return start + text;
}

}  // namespace quest::data
