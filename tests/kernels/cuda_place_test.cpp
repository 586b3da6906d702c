// How the blocks of the tiled kernels find their rows: asked without a GPU.

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <set>
#include <span>
#include <tuple>
#include <vector>

#include "kernels/cuda/place.h"

namespace quest::kernels::cuda {
namespace {

constexpr int kTileRows = 64;

AttentionProblem causal_problem(std::int64_t batch, std::int64_t heads, std::int64_t rows) {
  AttentionProblem p;
  p.batch = batch;
  p.heads = p.kv_heads = heads;
  p.queries = p.keys = rows;
  p.causal = Causal::top_left;
  return p;
}

std::vector<Place> places_in_order(const AttentionProblem& p, const std::int64_t* cu_seqlens, Longest longest) {
  const auto blocks = static_cast<unsigned>(block_count(p, p.queries, p.heads, kTileRows));
  std::vector<Place> places;
  for (unsigned started = 0; started < blocks; ++started) {
    const unsigned block = block_in_order(p, cu_seqlens, p.queries, kTileRows, longest, started, blocks);
    places.emplace_back(p, cu_seqlens, p.queries, p.heads, kTileRows, block);
  }
  return places;
}

TEST(CudaPlace, EveryTileOfEveryHeadHasOneBlock) {
  for (const auto& [batch, heads, rows] :
       {std::tuple(1, 1, 1), std::tuple(1, 16, 16384), std::tuple(4, 16, 4096), std::tuple(3, 5, 700),
        std::tuple(16, 12, 1024), std::tuple(1, 3, 64 * 513)}) {
    for (const auto longest : {Longest::first, Longest::last}) {
      std::set<std::tuple<std::int64_t, int, int>> seen;
      const auto places = places_in_order(causal_problem(batch, heads, rows), nullptr, longest);
      for (const Place& place : places) {
        EXPECT_TRUE(place.tile >= 0 && place.tile * kTileRows < rows) << place.tile;
        seen.emplace(place.sequence, place.head, place.tile);
      }
      EXPECT_EQ(seen.size(), places.size()) << batch << ' ' << heads << ' ' << rows;
      EXPECT_EQ(seen.size(), static_cast<std::size_t>(batch * heads * ceil_div(rows, kTileRows)));
    }
  }
}

TEST(CudaPlace, EveryTileOfPackedSequencesHasOneBlock) {
  const std::array<std::int64_t, 6> cu_seqlens{0, 1, 1, 130, 500, 700};
  AttentionProblem p = causal_problem(5, 3, 700);
  p.cu_seqlens_q = p.cu_seqlens_k = cu_seqlens.data();
  std::set<std::tuple<std::int64_t, int, int>> seen;
  for (const Place& place : places_in_order(p, cu_seqlens.data(), Longest::last)) {
    const auto sequence = static_cast<std::size_t>(place.sequence);
    const std::int64_t rows = cu_seqlens.at(sequence + 1) - cu_seqlens.at(sequence);
    if (place.tile * kTileRows >= rows) continue;
    EXPECT_TRUE(seen.emplace(place.sequence, place.head, place.tile).second);
  }
  EXPECT_EQ(seen.size(), 3U * (1 + 3 + 6 + 4));
}

TEST(CudaPlace, TheBlocksWithTheMostWorkOfSomeHeadsComeFirst) {
  const auto places = places_in_order(causal_problem(1, 16, 16384), nullptr, Longest::first);
  constexpr std::size_t kTogether = 512;
  ASSERT_EQ(places.size() % kTogether, 0U);
  for (std::size_t first = 0; first < places.size(); first += kTogether) {
    std::set<int> heads;
    const auto group = std::span(places).subspan(first, kTogether);
    EXPECT_TRUE(std::ranges::is_sorted(group, {}, &Place::tile));
    for (const Place& place : group) heads.insert(place.head);
    EXPECT_EQ(heads.size(), 2U);
  }
}

TEST(CudaPlace, BlocksOfEqualWorkGoHeadByHead) {
  AttentionProblem p = causal_problem(2, 3, 700);
  p.causal = Causal::none;
  const auto places = places_in_order(p, nullptr, Longest::first);
  EXPECT_TRUE(std::ranges::is_sorted(
      places, {}, [](const Place& place) { return std::tuple(place.sequence, place.head, place.tile); }));
}

}  // namespace
}  // namespace quest::kernels::cuda
