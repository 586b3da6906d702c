// As much of the CUDA run-time library as the kernels' host code calls: a launch interprets the PTX that lies beside
// the machine code in the same object file, at once, on the CPU.

#include "tools/ptx/cuda_runtime.h"

#include <cuda.h>
#include <cuda_runtime_api.h>
#include <zstd.h>

#include <algorithm>
#include <cstring>
#include <deque>
#include <map>
#include <optional>
#include <stdexcept>
#include <string>

#include "tools/ptx/block.h"
#include "tools/ptx/bulk_copy.h"

namespace quest::testing::ptx {
namespace {

struct FatBinaryWrapper {
  std::uint32_t magic;
  std::uint32_t version;
  const std::byte* data;
};

struct FatBinaryHeader {
  std::uint32_t magic;
  std::uint16_t version;
  std::uint16_t header_bytes;
  std::uint64_t content_bytes;
};

struct FatBinaryEntry {
  std::uint16_t kind;
  std::uint16_t version;
  std::uint32_t header_bytes;
  std::uint64_t padded_bytes;
  std::uint32_t stored_bytes;
};

constexpr std::uint16_t kPtx = 1;

template <typename Header>
Header header_at(const std::byte* data) {
  Header header;
  std::memcpy(&header, data, sizeof header);
  return header;
}

std::string decompressed(const std::byte* data, std::size_t bytes) {
  const auto size = ZSTD_getFrameContentSize(data, bytes);
  if (size == ZSTD_CONTENTSIZE_ERROR || size == ZSTD_CONTENTSIZE_UNKNOWN) {
    return {reinterpret_cast<const char*>(data), bytes};
  }
  std::string text(size, '\0');
  if (ZSTD_decompress(text.data(), size, data, bytes) != size) {
    throw std::runtime_error("the PTX of a kernel cannot be decompressed");
  }
  return text;
}

// Empty where an object holds machine code only.
std::string ptx_of(const FatBinaryWrapper& binary) {
  const auto header = header_at<FatBinaryHeader>(binary.data);
  const std::byte* at = binary.data + header.header_bytes;
  for (const std::byte* end = at + header.content_bytes; at < end;) {
    const auto entry = header_at<FatBinaryEntry>(at);
    if (entry.kind == kPtx) return decompressed(at + entry.header_bytes, entry.stored_bytes);
    at += entry.header_bytes + entry.padded_bytes;
  }
  return {};
}

// What an object file brings. Its PTX is read when one of its kernels is launched.
struct Binary {
  const FatBinaryWrapper* wrapper = nullptr;
  std::optional<Module> module{};
};

struct Entry {
  Binary* binary = nullptr;
  std::string name;
  std::size_t allowed_shared = 48 << 10;  // that a launch may ask for
};

struct Configuration {
  dim3 grid;
  dim3 block;
  std::size_t shared;
  cudaStream_t stream;
};

std::deque<Binary>& binaries() {
  static std::deque<Binary> all;
  return all;
}
std::map<const void*, Entry>& entries() {
  static std::map<const void*, Entry> all;
  return all;
}
std::size_t& largest_shared_memory() {
  static std::size_t bytes = 232448;
  return bytes;
}
std::vector<Configuration>& configurations() {
  static std::vector<Configuration> all;
  return all;
}

void launch(const void* function, const dim3& grid, const dim3& block, void** arguments, std::size_t shared) {
  const Entry& entry = entries().at(function);
  if (!entry.binary->module) entry.binary->module.emplace(ptx_of(*entry.binary->wrapper));
  const Kernel& kernel = entry.binary->module->kernel(entry.name);
  if (block.y != 1 || block.z != 1) throw Fault("blocks of several dimensions");
  if (shared > entry.allowed_shared || kernel.static_shared + shared > largest_shared_memory()) {
    throw Fault(entry.name + " was started with " + std::to_string(shared) +
                " bytes of shared memory, more than it may have");
  }
  Launch launch{.kernel = kernel,
                .grid = {grid.x, grid.y, grid.z},
                .threads = block.x,
                .dynamic_shared = shared,
                .parameters = {}};
  for (std::size_t i = 0; i < kernel.parameters.size(); ++i) {
    const Parameter& parameter = kernel.parameters[i];
    launch.parameters.resize(parameter.offset + parameter.size);
    std::memcpy(launch.parameters.data() + parameter.offset, arguments[i], parameter.size);
  }
  run(launch);
}

CUresult encode_tensor_map(CUtensorMap* map, CUtensorMapDataType type, cuuint32_t rank, void* data,
                           const cuuint64_t* sizes, const cuuint64_t* strides, const cuuint32_t* box,
                           const cuuint32_t* steps, CUtensorMapInterleave, CUtensorMapSwizzle swizzle,
                           CUtensorMapL2promotion, CUtensorMapFloatOOBfill fill) {
  const bool type_of_16_bits = type == CU_TENSOR_MAP_DATA_TYPE_BFLOAT16 || type == CU_TENSOR_MAP_DATA_TYPE_FLOAT16;
  const bool known = type_of_16_bits && rank == 4 && box[0] == 64 && box[1] <= 256 && box[2] == 1 && box[3] == 1 &&
                     std::all_of(steps, steps + 4, [](cuuint32_t step) { return step == 1; }) &&
                     swizzle == CU_TENSOR_MAP_SWIZZLE_128B && fill == CU_TENSOR_MAP_FLOAT_OOB_FILL_NONE;
  const bool aligned = reinterpret_cast<std::uintptr_t>(data) % 16 == 0 &&
                       std::all_of(strides, strides + 3, [](cuuint64_t stride) { return stride % 16 == 0; });
  if (!known || !aligned) return CUDA_ERROR_INVALID_VALUE;
  TensorMap encoded{.data = reinterpret_cast<std::uint64_t>(data), .box_rows = box[1]};
  std::copy_n(sizes, 4, encoded.sizes);
  std::copy_n(strides, 3, encoded.strides);
  std::memcpy(map, &encoded, sizeof encoded);
  return CUDA_SUCCESS;
}

}  // namespace

void set_largest_shared_memory(std::size_t bytes) { largest_shared_memory() = bytes; }

}  // namespace quest::testing::ptx

namespace ptx = quest::testing::ptx;

extern "C" {

void** __cudaRegisterFatBinary(void* wrapper) {
  ptx::binaries().push_back({.wrapper = static_cast<const ptx::FatBinaryWrapper*>(wrapper)});
  return reinterpret_cast<void**>(&ptx::binaries().back());
}
void __cudaRegisterFatBinaryEnd(void**) {}
void __cudaUnregisterFatBinary(void**) {}

void __cudaRegisterFunction(void** binary, const char* function, char*, const char* name, int, void*, void*, void*,
                            void*, int*) {
  ptx::entries()[function] = {reinterpret_cast<ptx::Binary*>(binary), name};
}

unsigned __cudaPushCallConfiguration(dim3 grid, dim3 block, std::size_t shared, cudaStream_t stream) {
  ptx::configurations().push_back({grid, block, shared, stream});
  return 0;
}

cudaError_t __cudaPopCallConfiguration(dim3* grid, dim3* block, std::size_t* shared, void* stream) {
  const ptx::Configuration top = ptx::configurations().back();
  ptx::configurations().pop_back();
  *grid = top.grid;
  *block = top.block;
  *shared = top.shared;
  *static_cast<cudaStream_t*>(stream) = top.stream;
  return cudaSuccess;
}

cudaError_t __cudaGetKernel(cudaKernel_t* kernel, const void* function) {
  *kernel = static_cast<cudaKernel_t>(const_cast<void*>(function));
  return cudaSuccess;
}

cudaError_t __cudaLaunchKernel(cudaKernel_t kernel, dim3 grid, dim3 block, void** arguments, std::size_t shared,
                               cudaStream_t) {
  ptx::launch(kernel, grid, block, arguments, shared);
  return cudaSuccess;
}

cudaError_t cudaLaunchKernelExC(const cudaLaunchConfig_t* configuration, const void* function, void** arguments) {
  ptx::launch(function, configuration->gridDim, configuration->blockDim, arguments, configuration->dynamicSmemBytes);
  return cudaSuccess;
}

cudaError_t cudaFuncSetAttribute(const void* function, cudaFuncAttribute attribute, int value) {
  const auto bytes = static_cast<std::size_t>(value);
  if (attribute != cudaFuncAttributeMaxDynamicSharedMemorySize || bytes > ptx::largest_shared_memory()) {
    return cudaErrorInvalidValue;
  }
  ptx::entries().at(function).allowed_shared = bytes;
  return cudaSuccess;
}

cudaError_t cudaGetLastError() { return cudaSuccess; }

cudaError_t cudaGetDriverEntryPointByVersion(const char* name, void** entry, unsigned, unsigned long long,
                                             cudaDriverEntryPointQueryResult* found) {
  const bool known = std::strcmp(name, "cuTensorMapEncodeTiled") == 0;
  *entry = known ? reinterpret_cast<void*>(&ptx::encode_tensor_map) : nullptr;
  if (found != nullptr) *found = known ? cudaDriverEntryPointSuccess : cudaDriverEntryPointSymbolNotFound;
  return cudaSuccess;
}
}
