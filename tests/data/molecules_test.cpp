#include "data/sets/molecules.h"

#include <gtest/gtest.h>
#include <torch/torch.h>

#include "data/formats/format_error.h"
#include "data/formats/molecule_lines.h"
#include "data/formats/packed_molecules.h"
#include "tests/data/packed.h"
#include "tests/testing/folder_fixture.h"
#include "tests/testing/messages.h"

namespace quest::data {
namespace {

using namespace std::string_literals;
using quest::testing::has;
using quest::testing::message_of;

const std::filesystem::path kShared = std::filesystem::path(QUEST_SOURCE_FOLDER) / "../shared/data";

at::Tensor longs(const std::vector<std::int64_t>& numbers) { return torch::tensor(numbers, at::kLong); }

std::string line_error(const std::string& content) {
  return message_of([&] { (void)parse_molecule_lines(content, {.atoms = 28, .bonds = 4}); });
}

TEST(MoleculeLines, AreRead) {
  const auto molecules = parse_molecule_lines("1.5\tCO\t0,2\t0-1:1\n\n-2\tC\t27\t\r\n", {.atoms = 28, .bonds = 4});
  ASSERT_EQ(molecules.size(), 2U);
  EXPECT_EQ(molecules[0].target, 1.5);
  EXPECT_EQ(molecules[0].atoms, (std::vector<std::int32_t>{0, 2}));
  ASSERT_EQ(molecules[0].bonds.size(), 1U);
  EXPECT_EQ(molecules[0].bonds[0].other, 1);
  EXPECT_EQ(molecules[1].atoms, (std::vector<std::int32_t>{27}));
  EXPECT_TRUE(molecules[1].bonds.empty());
}

TEST(MoleculeLines, SayWhatIsWrongWhere) {
  EXPECT_EQ(line_error("1\tC\t0\t\n1\tC\t28\t\n"), "line 2: expected an atom type from 0 to 27, found \"28\"");
  EXPECT_EQ(line_error("1\tC\t0,0\t0-2:1"), "line 1: expected an atom of a bond from 0 to 1, found \"2\"");
  EXPECT_EQ(line_error("1\tC\t0,0\t0-1:4"), "line 1: expected a bond type from 0 to 3, found \"4\"");
  EXPECT_EQ(line_error("nan\tC\t0\t"), "line 1: expected a target that is a finite number, found \"nan\"");
  EXPECT_TRUE(has(line_error("1\tC\t0,0"), "found 3 columns; is the line cut off?"));
  EXPECT_TRUE(has(line_error("1\tC\t0,0\t0:1-1"), "expected a bond as atom-atom:type, found \"0:1-1\""));
}

class MoleculeFiles : public quest::testing::FolderFixture {};

TEST_F(MoleculeFiles, OfZincBecomeGraphs) {
  static_cast<void>(file_with("train.tsv", "0.5\tCCO\t0,0,1\t0-1:1 1-2:3\n1\tC\t5\t\n"));
  static_cast<void>(file_with("val.tsv.xz", quest::testing::xzipped("-1\tC\t2\t\n")));
  static_cast<void>(file_with("test.tsv", "2\tC\t3\t\n"));
  const auto set = load_zinc_lines(in_folder(""));
  EXPECT_EQ(set.split("train").size(), 2);
  EXPECT_EQ(set.split("validation").first, 2);
  const auto batch = set.batch(set.split("train"));
  EXPECT_TRUE(batch["node_ids"].flatten().equal(longs({0, 0, 1, 5})));
  EXPECT_TRUE(batch["source"].equal(longs({1, 0, 2, 1})));
  EXPECT_TRUE(batch["target"].equal(longs({0, 1, 1, 2})));
  EXPECT_TRUE(batch["edge_ids"].flatten().equal(longs({1, 1, 3, 3})));
  EXPECT_TRUE(batch["y"].equal(torch::tensor({{0.5F}, {1.0F}})));
  static_cast<void>(file_with("train.tsv", "0.5\tC\t0\t\n0.5\tC\t0,x\t\n"));
  EXPECT_TRUE(has(message_of([&] { (void)load_zinc_lines(in_folder("")); }), "train.tsv\": line 2: expected an atom"));
  static_cast<void>(file_with("train.tsv", "0.5\tC\t0\t\n"));
  std::filesystem::remove(in_folder("test.tsv"));
  EXPECT_TRUE(has(message_of([&] { (void)load_zinc_lines(in_folder("")); }), "test.tsv\": expected this file"));
}

class PackedFiles : public quest::testing::FolderFixture {
 protected:
  void write() const {
    const std::string atom = "5\t0\t4\t5\t3\t0\t2\t0\t";
    static_cast<void>(
        file_with("graphs.tsv", "train\t0100000001\t2\t1\nval\t1000000000\t1\t0\ntest\t0000000000\t3\t2\n"));
    static_cast<void>(file_with("node_types.tsv", "id\ta\n0\t" + atom + "0\n1\t" + atom + "1\n"));
    static_cast<void>(file_with("bond_types.tsv", "id\tb\n0\t0\t0\t0\n1\t3\t5\t1\n"));
    static_cast<void>(file_with("node_type.u8", "\x01\0\0\0\x01\x01"s));
    static_cast<void>(file_with("bond_type.u8", "\0\x01\x01"s));
    static_cast<void>(file_with("bond_begin.u16", "\0\0\0\0\x01\0"s));
    static_cast<void>(file_with("bond_end.u16", "\x01\0\x02\0\x02\0"s));
  }
  [[nodiscard]] std::string reason() const {
    return message_of([&] { (void)load_packed_peptides(in_folder("")); });
  }
};

TEST_F(PackedFiles, BecomeGraphs) {
  write();
  const auto set = load_packed_peptides(in_folder(""));
  const auto batch = set.batch(set.split("test"));
  EXPECT_TRUE(batch["source"].equal(longs({2, 2, 0, 1})));
  EXPECT_TRUE(batch["target"].equal(longs({0, 1, 2, 2})));
  EXPECT_TRUE(batch["node_ids"].select(1, 8).equal(longs({0, 1, 1})));
  EXPECT_TRUE(batch["node_ids"].select(1, 3).equal(longs({5, 5, 5})));
  EXPECT_TRUE(batch["edge_ids"][0].equal(longs({3, 5, 1})));
  EXPECT_TRUE(set.batch(set.split("train"))["y"].equal(
      torch::tensor({{0., 1., 0., 0., 0., 0., 0., 0., 0., 1.}}).to(at::kFloat)));
}

TEST_F(PackedFiles, SayWhichFileIsWrongWhere) {
  write();
  static_cast<void>(file_with("bond_end.u16", "\x01\0\x03\0\x02\0"s));
  EXPECT_TRUE(has(reason(), "\"bond_end.u16\": graph 2, place 0: expected an atom from 0 to 2, found 3"));
  static_cast<void>(file_with("bond_end.u16", "\x01\0\x02\0\x02"s));
  EXPECT_TRUE(has(reason(), "\"bond_end.u16\": expected 3 numbers of 2 bytes as graphs.tsv says, found 5 bytes"));
  write();
  static_cast<void>(file_with("node_type.u8", "\x01\0\0\0\x01\x02"s));
  EXPECT_TRUE(has(reason(), "\"node_type.u8\": place 5: expected a kind from 0 to 1, found 2"));
  static_cast<void>(file_with("graphs.tsv", "train\t0120000001\t2\t1\n"));
  EXPECT_TRUE(has(reason(), "\"graphs.tsv\": line 1: expected a label from 0 to 1, found \"2\""));
  static_cast<void>(file_with("graphs.tsv", "dev\t0\t0\t0\n"));
  static_cast<void>(file_with("node_type.u8", ""));
  static_cast<void>(file_with("bond_type.u8", ""));
  static_cast<void>(file_with("bond_begin.u16", ""));
  static_cast<void>(file_with("bond_end.u16", ""));
  EXPECT_TRUE(has(reason(), "expected the splits train, val and test, found \"dev\""));
  std::filesystem::remove(in_folder("bond_types.tsv"));
  EXPECT_TRUE(has(reason(), "bond_types.tsv\": expected this file"));
}

TEST(SharedMolecules, OfZincAreThoseOfTheBenchmark) {
  if (!std::filesystem::exists(kShared / "zinc12k")) GTEST_SKIP() << "skipped: no " << kShared / "zinc12k";
  const auto set = load_zinc_lines(kShared / "zinc12k");
  EXPECT_EQ(set.split("train").size(), 10000);
  EXPECT_EQ(set.split("validation").size(), 1000);
  EXPECT_EQ(set.split("test").size(), 1000);
  const auto validation = set.batch(set.split("validation"));
  // Counted in the published processed files.
  EXPECT_EQ(validation["graph"].size(0), 23083);
  EXPECT_EQ(validation["source"].size(0), 49692);
}

TEST(SharedMolecules, OfPeptidesAreAll) {
  if (!std::filesystem::exists(kShared / "peptides_func")) GTEST_SKIP() << "skipped: no " << kShared / "peptides_func";
  const auto set = load_packed_peptides(kShared / "peptides_func");
  EXPECT_EQ(set.split("train").size(), 10873);
  EXPECT_EQ(set.split("validation").size(), 2331);
  EXPECT_EQ(set.split("test").size(), 2331);
  EXPECT_EQ(set.nodes(), 2344859);
  EXPECT_EQ(set.edges(), 4773974);
}

}  // namespace
}  // namespace quest::data
