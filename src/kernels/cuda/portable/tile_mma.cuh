#pragma once

// One warp's matrix products, 16 rows by pairs of 8 columns: what differs between the element types. 16-bit elements
// take one product of depth 16. float32 elements are split into two tf32 terms each and take three products of depth 8,
// which leaves an error of 2^-20 per product at most. The tensor cores truncate where they add, so that long chains of
// sums drift: the small terms are summed apart or first, and the sums over one tile are added to those of the others by
// ordinary additions.

#include <type_traits>

#include "kernels/cuda/device/element.cuh"
#include "kernels/cuda/device/fragments.cuh"

namespace quest::kernels::cuda::portable {

__device__ inline void multiply_16bit(__nv_bfloat16, Accumulator& c, const Fragment& a, uint32_t b0, uint32_t b1) {
  multiply_add(c, a, b0, b1);
}

__device__ inline void multiply_16bit(__half, Accumulator& c, const Fragment& a, uint32_t b0, uint32_t b1) {
  asm volatile("mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%0,%1,%2,%3}, {%4,%5,%6,%7}, {%8,%9}, {%0,%1,%2,%3};"
               : "+f"(c.x[0]), "+f"(c.x[1]), "+f"(c.x[2]), "+f"(c.x[3])
               : "r"(a.x[0]), "r"(a.x[1]), "r"(a.x[2]), "r"(a.x[3]), "r"(b0), "r"(b1));
}

__device__ inline void multiply_tf32(Accumulator& c, const Fragment& a, uint32_t b0, uint32_t b1) {
  asm volatile(
      "mma.sync.aligned.m16n8k8.row.col.f32.tf32.tf32.f32 {%0,%1,%2,%3}, {%4,%5,%6,%7}, {%8,%9}, {%0,%1,%2,%3};"
      : "+f"(c.x[0]), "+f"(c.x[1]), "+f"(c.x[2]), "+f"(c.x[3])
      : "r"(a.x[0]), "r"(a.x[1]), "r"(a.x[2]), "r"(a.x[3]), "r"(b0), "r"(b1));
}

// Where this lane points ldmatrix for 16 rows and two chunks, the depth of one product. As left operand; transposed as
// right operand stored [depth][column].
template <typename Tile>
__device__ uint32_t left_address(Tile tile, int row, int step) {
  return tile.chunk_address(row, lane_id() % 16, 2 * step, lane_id() / 16);
}

// As right operand stored [column][depth]; its column halves are words {0,1} and {2,3}.
template <typename Tile>
__device__ uint32_t right_address(Tile tile, int row, int step) {
  return tile.chunk_address(row, lane_id() % 8 + lane_id() / 16 * 8, 2 * step, lane_id() / 8 % 2);
}

// As load_left would read it back.
template <typename Tile>
__device__ void store_operand(Tile tile, int row, int step, const Fragment& x) {
#if __CUDA_ARCH__ >= 900
  store_matrix(left_address(tile, row, step), x);
#else
#pragma unroll
  for (int i = 0; i < 4; ++i) {
    const uint32_t address = tile.chunk_address(row + lane_row() + i % 2 * 8, 2 * step + i / 2) + lane_id() % 4 * 4;
    asm volatile("st.shared.u32 [%0], %1;" ::"r"(address), "r"(x.x[i]) : "memory");
  }
#endif
}

template <typename T>
struct TileMma {
  using Operand = Fragment;
  static constexpr int kDepth = 16;
  static constexpr int kWeightBlocks = 2;  // accumulators that make one left operand
  static constexpr bool kSplit = false;

  template <typename Tile>
  __device__ static Operand load_left(Tile tile, int row, int step) {
    return load_matrix(left_address(tile, row, step));
  }
  template <typename Tile>
  __device__ static Operand load_right(Tile tile, int row, int step) {
    return load_matrix(right_address(tile, row, step));
  }
  // kDepth rows are summed over; 16 columns at 16 * block.
  template <typename Tile>
  __device__ static Operand load_right_transposed(Tile tile, int row, int block) {
    return load_matrix_transposed(left_address(tile, row, block));
  }
  // 16 rows at 16 * block, summed over the kDepth rows of the tile from `row` on.
  template <typename Tile>
  __device__ static Operand load_left_transposed(Tile tile, int row, int block) {
    return load_matrix_transposed(right_address(tile, row, block));
  }
  __device__ static Operand weights(const Accumulator* blocks) {
    Operand packed;
#pragma unroll
    for (int i = 0; i < 4; ++i) {
      const Accumulator& block = blocks[i / 2];
      packed.x[i] = Element<T>::pack(block.x[i % 2 * 2], block.x[i % 2 * 2 + 1]);
    }
    return packed;
  }
  // Row sums of the weights as rounded: a product with ones, whose columns all hold the sum of the whole row.
  __device__ static void add_sums(Accumulator& sums, const Operand& packed) {
    constexpr uint32_t kOnes = std::is_same_v<T, __half> ? 0x3c003c00u : 0x3f803f80u;
    multiply_16bit(T(), sums, packed, kOnes, kOnes);
  }
  __device__ static float row_sum(float sum) { return sum; }
  __device__ static void multiply(Accumulator* halves, const Operand& a, const Operand& b) {
    multiply_16bit(T(), halves[0], a, b.x[0], b.x[1]);
    multiply_16bit(T(), halves[1], a, b.x[2], b.x[3]);
  }
};

// Of a tf32 operand: products take no notice of them.
inline constexpr uint32_t kIgnoredBits = 0x1fffu;

__device__ inline float high_part(uint32_t operand) { return __uint_as_float(operand & ~kIgnoredBits); }

struct SplitFragment {
  Fragment high;
  Fragment low;

  __device__ float whole(int i) const { return high_part(high.x[i]) + __uint_as_float(low.x[i]); }
};

// PTX's conversion to tf32 would take more than twice the instructions, for the sake of infinities; here they become
// NaN, as they do in the difference anyway. One operand of a product may as well be cut off: what is left out, the
// product of the low parts, has no sign in common then with what it is left out of.
template <bool kRounds = true>
__device__ SplitFragment split(const Fragment& whole) {
  SplitFragment parts;
#pragma unroll
  for (int i = 0; i < 4; ++i) {
    parts.high.x[i] = whole.x[i] + (kRounds ? (kIgnoredBits + 1) / 2 : 0);
    parts.low.x[i] = __float_as_uint(__uint_as_float(whole.x[i]) - high_part(parts.high.x[i]));
  }
  return parts;
}

template <>
struct TileMma<float> {
  using Operand = SplitFragment;
  static constexpr int kDepth = 8;
  static constexpr int kWeightBlocks = 1;
  static constexpr bool kSplit = true;

  template <typename Tile>
  __device__ static Operand load_left(Tile tile, int row, int step) {
    return split<false>(load_matrix(left_address(tile, row, step)));
  }
  template <typename Tile>
  __device__ static Operand load_right(Tile tile, int row, int step) {
    return split(load_matrix(right_address(tile, row, step)));
  }
  // A lane's accumulators are columns 2t and 2t+1, an operand's are t and t+4: the sum runs over the rows in that
  // order. Cut off, since there are more of them than of weights().
  template <typename Tile>
  __device__ static Operand load_right_transposed(Tile tile, int row, int block) {
    Fragment whole;
#pragma unroll
    for (int i = 0; i < 4; ++i) {
      const uint32_t chunk = tile.chunk_address(row, lane_column() + i % 2, block * 4 + i / 2 * 2, lane_row() / 4);
      asm volatile("ld.shared.u32 %0, [%1];" : "=r"(whole.x[i]) : "r"(chunk + lane_row() % 4 * 4));
    }
    return split<false>(whole);
  }
  __device__ static Operand weights(const Accumulator* block) {
    const float* x = block->x;
    return split({{__float_as_uint(x[0]), __float_as_uint(x[2]), __float_as_uint(x[1]), __float_as_uint(x[3])}});
  }
  __device__ static void add_sums(Accumulator& sums, const Operand& parts) {
#pragma unroll
    for (int i = 0; i < 4; ++i) {
      sums.x[i % 2 * 2] += parts.whole(i);
    }
  }
  __device__ static float row_sum(float sum) { return quad_sum(sum); }
  __device__ static void multiply(Accumulator* halves, Accumulator* small, const Operand& a, const Operand& b) {
#pragma unroll
    for (int i = 0; i < 2; ++i) {
      multiply_tf32(small[i], a.low, b.high.x[2 * i], b.high.x[2 * i + 1]);
      multiply_tf32(small[i], a.high, b.low.x[2 * i], b.low.x[2 * i + 1]);
      multiply_tf32(halves[i], a.high, b.high.x[2 * i], b.high.x[2 * i + 1]);
    }
  }
};

}  // namespace quest::kernels::cuda::portable
