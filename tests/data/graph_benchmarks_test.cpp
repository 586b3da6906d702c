#include "data/sets/graph_benchmarks.h"

#include <gtest/gtest.h>
#include <torch/torch.h>

#include <cstdlib>

#include "data/sets/graph_file.h"
#include "tests/testing/folder_fixture.h"
#include "tests/testing/messages.h"

namespace quest::data {
namespace {

using quest::testing::has;
using quest::testing::message_of;

class GraphBenchmarks : public quest::testing::FolderFixture {
 protected:
  GraphBenchmarks() {
    ::setenv("XDG_CACHE_HOME", in_folder("cache").c_str(), 1);
    ::setenv("QUEST_DATA", in_folder("data").c_str(), 1);
  }
  ~GraphBenchmarks() override {
    ::unsetenv("XDG_CACHE_HOME");
    ::unsetenv("QUEST_DATA");
  }
};

TEST_F(GraphBenchmarks, AreMissingUnlessGenerated) {
  for (const auto& set : graph_benchmark_sets()) {
    EXPECT_FALSE(set.find()) << set.name;
    const auto text = missing_graphs_text({.name = set.name});
    const bool is_generated = set.name == "PATTERN" || set.name == "CLUSTER";
    EXPECT_EQ(text.empty(), is_generated) << set.name;
    if (is_generated) continue;
    EXPECT_TRUE(has(text, (in_folder("data") / set.name).string()));
  }
  EXPECT_TRUE(has(message_of([] { (void)load_graphs({.name = "COCO-SP"}); }), "LRGBDataset"));
  EXPECT_TRUE(
      has(message_of([] { (void)load_graphs({.name = "MNIST"}); }), "expected one of the data sets ZINC, CIFAR10"));
}

TEST_F(GraphBenchmarks, GenerateOnlyWhatLiesNowhere) {
  const auto made = load_graphs({.name = "CLUSTER", .seed = 1, .train = 4, .evaluated = 2});
  EXPECT_EQ(made.split("test").size(), 2);
  save_graph_set(in_folder("own/CLUSTER.safetensors"), made);
  const auto found = load_graphs({.name = "CLUSTER", .folder = in_folder("own").string()});
  EXPECT_EQ(found.size(), 8);
  EXPECT_TRUE(found.tensors().source.equal(made.tensors().source));
  save_graph_set(in_folder("data/cluster/CLUSTER.safetensors"), made);
  EXPECT_EQ(load_graphs({.name = "CLUSTER"}).size(), 8);
  EXPECT_EQ(find_graphs({.name = "CLUSTER"}), in_folder("data/cluster/CLUSTER.safetensors"));
}

TEST_F(GraphBenchmarks, HaveTheSizesThatModelsAreMadeFor) {
  EXPECT_EQ(benchmark_schema("ZINC").node_categories, (std::vector<std::int64_t>{28}));
  EXPECT_EQ(benchmark_schema("PATTERN").outputs, 2);
  EXPECT_EQ(benchmark_schema("PascalVOC-SP").outputs, 21);
  EXPECT_EQ(benchmark_schema("COCO-SP").outputs, 81);
  EXPECT_EQ(benchmark_schema("PCQM-Contact").task, GraphTask::pairs);
  EXPECT_EQ(benchmark_schema("Peptides-struct").outputs, 11);
  std::int64_t rows = 0;
  for (const auto count : benchmark_schema("Peptides-func").node_categories) rows += count;
  EXPECT_EQ(rows, 173);
}

}  // namespace
}  // namespace quest::data
