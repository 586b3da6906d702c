#include "data/formats/pickled_tensor.h"

#include <algorithm>
#include <array>
#include <cstring>

#include "data/formats/format_error.h"

namespace quest::data {
namespace {

using Kind = PickledKind;
using Items = std::vector<Place>;

constexpr std::array<std::pair<std::string_view, ElementType>, 10> kStorages = {{
    {"torch.BoolStorage", ElementType::boolean},
    {"torch.ByteStorage", ElementType::uint8},
    {"torch.CharStorage", ElementType::int8},
    {"torch.ShortStorage", ElementType::int16},
    {"torch.IntStorage", ElementType::int32},
    {"torch.LongStorage", ElementType::int64},
    {"torch.HalfStorage", ElementType::float16},
    {"torch.BFloat16Storage", ElementType::bfloat16},
    {"torch.FloatStorage", ElementType::float32},
    {"torch.DoubleStorage", ElementType::float64},
}};
constexpr std::array<std::pair<std::string_view, ElementType>, 10> kNumpyTypes = {{
    {"b1", ElementType::boolean},
    {"u1", ElementType::uint8},
    {"i1", ElementType::int8},
    {"i2", ElementType::int16},
    {"i4", ElementType::int32},
    {"i8", ElementType::int64},
    {"f2", ElementType::float16},
    {"f4", ElementType::float32},
    {"f8", ElementType::float64},
    {"u2", ElementType::uint16},
}};
constexpr std::string_view kTensor = "torch._utils._rebuild_tensor_v2";
constexpr std::string_view kParameter = "torch._utils._rebuild_parameter";
constexpr std::string_view kStorageOfBytes = "torch.storage._load_from_bytes";
constexpr std::array<std::string_view, 2> kReconstruct = {"numpy.core.multiarray._reconstruct",
                                                          "numpy._core.multiarray._reconstruct"};
constexpr std::array<std::string_view, 2> kFromBuffer = {"numpy.core.numeric._frombuffer",
                                                         "numpy._core.numeric._frombuffer"};
constexpr std::array<std::string_view, 2> kScalar = {"numpy.core.multiarray.scalar", "numpy._core.multiarray.scalar"};
constexpr std::string_view kArray = "numpy.ndarray";
constexpr std::string_view kType = "numpy.dtype";

bool holds(const auto& names, std::string_view name) { return std::ranges::find(names, name) != names.end(); }

class Reader {
 public:
  explicit Reader(const Pickle& pickle) : pickle_(pickle) {}

  [[nodiscard]] std::optional<PickledTensor> read(const PickledValue& value) const {
    if (value.kind != Kind::object) return std::nullopt;
    const auto& name = at(value.items[0]).text;
    const auto& arguments = at(value.items[1]).items;
    if (name == kTensor) return tensor(value, arguments);
    if (name == kParameter) return parameter(arguments);
    if (holds(kReconstruct, name)) return array(value);
    if (holds(kFromBuffer, name)) return buffer(value, arguments);
    if (holds(kScalar, name)) return scalar(value, arguments);
    return std::nullopt;
  }

 private:
  [[nodiscard]] const PickledValue& at(Place place) const { return pickle_.at(place); }

  [[nodiscard]] std::int64_t integer(const PickledValue& value) const {
    if (value.kind != Kind::integer) fail_at(value, "expected an integer, found another value");
    return value.integer;
  }

  [[nodiscard]] std::vector<std::int64_t> integers(const PickledValue& value) const {
    if (value.kind != Kind::tuple) fail_at(value, "expected a tuple of integers, found another value");
    std::vector<std::int64_t> result;
    for (const Place item : value.items) result.push_back(integer(at(item)));
    return result;
  }

  // (tensor, requires_grad, hooks)
  [[nodiscard]] std::optional<PickledTensor> parameter(const Items& arguments) const {
    if (arguments.empty() || at(arguments[0]).kind != Kind::object) return std::nullopt;
    const auto& inner = at(arguments[0]);
    if (at(inner.items[0]).text != kTensor) return std::nullopt;
    return tensor(inner, at(inner.items[1]).items);
  }

  // (storage, offset, shape, strides, requires_grad, hooks)
  [[nodiscard]] PickledTensor tensor(const PickledValue& value, const Items& arguments) const {
    if (arguments.size() < 4) fail_at(value, "expected a tensor of a storage, offset, shape and strides, found less");
    PickledTensor result = storage(at(arguments[0]));
    result.offset = integer(at(arguments[1]));
    result.shape = integers(at(arguments[2]));
    result.strides = integers(at(arguments[3]));
    check_bounds(value, result);
    return result;
  }

  [[nodiscard]] PickledTensor storage(const PickledValue& value) const {
    if (value.kind == Kind::persistent) return storage_of(pickle_, value);
    const bool holds_bytes = value.kind == Kind::object && at(value.items[0]).text == kStorageOfBytes;
    if (!holds_bytes) fail_at(value, "expected a storage of a tensor, found another value");
    const auto& arguments = at(value.items[1]).items;
    if (arguments.size() != 1 || at(arguments[0]).kind != Kind::bytes) {
      fail_at(value, "expected the bytes of a storage, found other arguments");
    }
    return storage_in(value, at(arguments[0]).text);
  }

  // ("storage", type, key, device, number of elements), and before torch 1.6 a view's part, which is None
  [[nodiscard]] static PickledTensor storage_of(const Pickle& pickle, const PickledValue& value) {
    const auto& tuple = pickle.at(value.items[0]);
    const auto& items = tuple.items;
    const bool fits = tuple.kind == Kind::tuple && (items.size() == 5 || items.size() == 6) &&
                      pickle.at(items[1]).kind == Kind::name && pickle.at(items[2]).kind == Kind::text &&
                      pickle.at(items[4]).kind == Kind::integer &&
                      (items.size() == 5 || pickle.at(items[5]).kind == Kind::none);
    if (!fits) fail_at(value, "expected a storage of five parts, found another tuple");
    const auto& type_name = pickle.at(items[1]).text;
    const auto* const type = std::ranges::find(kStorages, type_name, &decltype(kStorages)::value_type::first);
    if (type == kStorages.end()) fail_at(value, "expected the type of a storage, found " + in_quotes(type_name));
    return {.storage = std::string(pickle.at(items[2]).text),
            .type = type->second,
            .storage_size = pickle.at(items[4]).integer};
  }

  // A file of torch.save as it was before 1.6: five pickles (a magic number, the version, the system, the storage, the
  // keys of its content), the number of elements, the elements.
  [[nodiscard]] static PickledTensor storage_in(const PickledValue& value, std::string_view file) {
    constexpr int kBefore = 3;
    for (int i = 0; i < kBefore; ++i) file.remove_prefix(parse_pickle(file, is_name_of_torch_tensor).length);
    const auto described = parse_pickle(file, is_name_of_torch_tensor);
    file.remove_prefix(described.length);
    if (described.root().kind != Kind::persistent) fail_at(value, "expected a storage inside, found another value");
    auto result = storage_of(described, described.root());
    file.remove_prefix(parse_pickle(file, is_name_of_torch_tensor).length);
    std::int64_t count = 0;
    const auto element = static_cast<std::int64_t>(format_of(result.type).bytes);
    if (file.size() >= sizeof count) {
      std::memcpy(&count, file.data(), sizeof count);
      file.remove_prefix(sizeof count);
    }
    if (count != result.storage_size || static_cast<std::int64_t>(file.size()) / element != count ||
        static_cast<std::int64_t>(file.size()) % element != 0) {
      fail_at(value, "expected a storage of " + std::to_string(result.storage_size) + " elements, found " +
                         std::to_string(file.size()) + " bytes; is the file cut off?");
    }
    result.content = file;
    return result;
  }

  // Sizes of 0 count as 1, so that the number of elements cannot be too large whichever way it is multiplied.
  static void check_bounds(const PickledValue& value, const PickledTensor& tensor) {
    if (tensor.shape.size() != tensor.strides.size()) fail_at(value, "expected as many strides as sizes of a tensor");
    auto elements = static_cast<std::int64_t>(format_of(tensor.type).bytes);
    std::int64_t last = tensor.offset;
    bool empty = false;
    bool fits = tensor.offset >= 0 && tensor.storage_size >= 0;
    for (std::size_t i = 0; i < tensor.shape.size(); ++i) {
      const std::int64_t size = tensor.shape[i];
      std::int64_t reach = 0;
      fits = fits && size >= 0 && tensor.strides[i] >= 0;
      fits = fits && !__builtin_mul_overflow(elements, std::max<std::int64_t>(size, 1), &elements);
      fits = fits && !__builtin_mul_overflow(std::max<std::int64_t>(size - 1, 0), tensor.strides[i], &reach);
      fits = fits && !__builtin_add_overflow(last, reach, &last);
      empty = empty || size == 0;
    }
    if (!fits || (empty ? tensor.offset > tensor.storage_size : last >= tensor.storage_size)) {
      fail_at(value, "expected a tensor within its storage of " + std::to_string(tensor.storage_size) +
                         " elements, found one that reaches beyond it");
    }
  }

  // Built from (version, shape, type, whether columns come first, bytes).
  [[nodiscard]] PickledTensor array(const PickledValue& value) const {
    const auto* state = value.items.size() == 3 ? &at(value.items[2]) : nullptr;
    if (state == nullptr || state->kind != Kind::tuple || state->items.size() != 5 ||
        at(state->items[4]).kind != Kind::bytes) {
      fail_at(value, "expected an array of numbers with its shape, type and bytes, found other parts");
    }
    auto shape = integers(at(state->items[1]));
    return view(value, std::move(shape), at(state->items[2]), at(state->items[3]).integer != 0,
                at(state->items[4]).text);
  }

  // (bytes, type, shape, order)
  [[nodiscard]] PickledTensor buffer(const PickledValue& value, const Items& arguments) const {
    if (arguments.size() != 4 || at(arguments[0]).kind != Kind::bytes) {
      fail_at(value, "expected an array of numbers with its bytes, type, shape and order, found other parts");
    }
    return view(value, integers(at(arguments[2])), at(arguments[1]), at(arguments[3]).text == "F",
                at(arguments[0]).text);
  }

  // (type, bytes)
  [[nodiscard]] PickledTensor scalar(const PickledValue& value, const Items& arguments) const {
    if (arguments.size() != 2 || at(arguments[1]).kind != Kind::bytes) {
      fail_at(value, "expected a number with its type and bytes, found other parts");
    }
    return view(value, {}, at(arguments[0]), false, at(arguments[1]).text);
  }

  [[nodiscard]] PickledTensor view(const PickledValue& value, std::vector<std::int64_t> shape, const PickledValue& type,
                                   bool columns_first, std::string_view bytes) const {
    PickledTensor result{.type = numpy_type(type), .shape = std::move(shape), .content = bytes};
    const auto element = format_of(result.type).bytes;
    result.storage_size = static_cast<std::int64_t>(bytes.size() / element);
    result.strides.resize(result.shape.size());
    std::int64_t stride = 1;
    for (std::size_t i = 0; i < result.shape.size(); ++i) {
      const auto place = columns_first ? i : result.shape.size() - 1 - i;
      result.strides[place] = stride;
      if (result.shape[place] < 0 || __builtin_mul_overflow(stride, result.shape[place], &stride)) {
        fail_at(value, "expected an array of a size that exists, found another");
      }
    }
    if (stride != result.storage_size || bytes.size() % element != 0) {
      fail_at(value, "expected " + std::to_string(stride) + " elements of an array, found " +
                         std::to_string(bytes.size()) + " bytes");
    }
    return result;
  }

  // dtype("f4", …) built from (version, byte order, …)
  [[nodiscard]] ElementType numpy_type(const PickledValue& value) const {
    const bool is_type = value.kind == Kind::object && at(value.items[0]).text == kType;
    if (!is_type || at(value.items[1]).items.empty())
      fail_at(value, "expected the type of an array, found another value");
    const auto& name = at(at(value.items[1]).items[0]);
    const auto* const type = std::ranges::find(kNumpyTypes, name.text, &decltype(kNumpyTypes)::value_type::first);
    if (type == kNumpyTypes.end())
      fail_at(name, "expected an array of numbers, found the type " + in_quotes(name.text));
    for (std::size_t i = 2; i < value.items.size(); ++i) {
      const auto& state = at(value.items[i]);
      if (state.kind == Kind::tuple && state.items.size() > 1 && at(state.items[1]).text == ">") {
        fail_at(value, "expected numbers in little endian order, found another");
      }
    }
    return type->second;
  }

  const Pickle& pickle_;
};

}  // namespace

std::int64_t PickledTensor::elements() const {
  std::int64_t count = 1;
  for (const auto size : shape) count *= size;
  return count;
}

bool is_name_of_torch_tensor(std::string_view name) {
  return name == kTensor || name == kParameter ||
         std::ranges::find(kStorages, name, &decltype(kStorages)::value_type::first) != kStorages.end();
}

bool is_name_of_array(std::string_view name) {
  return is_name_of_torch_tensor(name) || name == kStorageOfBytes || holds(kReconstruct, name) ||
         holds(kFromBuffer, name) || holds(kScalar, name) || name == kArray || name == kType;
}

std::optional<PickledTensor> tensor_at(const Pickle& pickle, const PickledValue& value) {
  return Reader(pickle).read(value);
}

}  // namespace quest::data
