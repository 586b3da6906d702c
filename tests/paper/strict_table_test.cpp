// Every message begins with file, line and key.

#include "paper/strict_table.h"

#include <gtest/gtest.h>

#include "tests/paper/refusals.h"

namespace quest::paper {
namespace {

using recipe::RecipeError;
using testing::refusal_of;

TomlNode tree_of(const std::string& text) { return toml_tree(text, "paper/x.toml"); }

template <class Ask>
std::string refusal(const std::string& text, const Ask& ask) {
  const auto tree = tree_of(text);
  return refusal_of<RecipeError>([&] {
    StrictTable table(tree, "item");
    static_cast<void>(ask(table));
  });
}

TEST(TomlTree, KeepsTheOrderAndPlacesOfTheFile) {
  const auto tree = tree_of("zebra = 1\n[b]\nx = { d = 1, c = [2, 'three'] }\n[a]\n");
  ASSERT_NE(tree.table(), nullptr);
  const auto& entries = *tree.table();
  ASSERT_EQ(entries.size(), 3U);
  EXPECT_EQ(entries[0].key, "zebra");
  EXPECT_EQ(entries[0].node.place, "paper/x.toml:1:1");
  EXPECT_EQ(entries[1].key, "b");
  EXPECT_EQ(entries[2].key, "a");
  const auto& x = entries[1].node.table()->front().node;
  EXPECT_EQ(x.place, "paper/x.toml:3:1");
  EXPECT_EQ(x.table()->front().key, "d");
  const auto& list = *x.table()->back().node.list();
  ASSERT_EQ(list.size(), 2U);
  EXPECT_EQ(*list[1].scalar(), recipe::Scalar(std::string("three")));
  EXPECT_EQ(list[1].place, "paper/x.toml:3:22");
}

TEST(TomlTree, SaysWhereAFileIsNoToml) {
  EXPECT_TRUE(refusal_of<RecipeError>([] {
                static_cast<void>(tree_of("a = 1\nb = = 2\n"));
              }).starts_with("paper/x.toml:2:5: this is no TOML: "));
  EXPECT_EQ(refusal_of<RecipeError>([] { static_cast<void>(tree_of("a = [1979-05-27]\n")); }),
            "paper/x.toml:1:6: expected a text, a number, true, false, a list or a table, got a TOML date");
}

TEST(StrictTable, GivesWhatIsThereAndNothingElse) {
  const auto tree = tree_of("text = 'a'\nwhole = 2\nnumber = 0.5\nflag = true\nlist = ['x', 'y']\n[table]\nkey = 1\n");
  StrictTable table(tree, "");
  EXPECT_EQ(table.text("text"), "a");
  EXPECT_EQ(table.integer("whole", 0), 2);
  EXPECT_EQ(table.number("number"), 0.5);
  EXPECT_EQ(table.flag("flag"), true);
  EXPECT_EQ(table.texts("list"), (std::vector<std::string>{"x", "y"}));
  auto inner = table.table("table");
  ASSERT_TRUE(inner);
  EXPECT_EQ(inner->number("key"), 1.0) << "a whole number is a number";
  EXPECT_FALSE(table.text("missing"));
  EXPECT_FALSE(table.texts("missing"));
  EXPECT_FALSE(table.table("missing"));
  EXPECT_TRUE(table.tables("missing").empty());
  EXPECT_FALSE(table.leaves("missing"));
  EXPECT_NO_THROW(table.check_keys());
  EXPECT_NO_THROW(inner->check_keys());
}

TEST(StrictTable, NamesAValueOfAnotherType) {
  const auto text = [](StrictTable& table) { return table.text("k"); };
  EXPECT_EQ(refusal("k = 3", text), "paper/x.toml:1:1: item.k: expected a text, got 3");
  EXPECT_EQ(refusal("\n  k = [1]", text), "paper/x.toml:2:3: item.k: expected a text, got a list");
  EXPECT_EQ(refusal("k = {}", text), "paper/x.toml:1:1: item.k: expected a text, got a table");
  EXPECT_EQ(refusal("k = 'x'", [](StrictTable& table) { return table.number("k"); }),
            "paper/x.toml:1:1: item.k: expected a number, got \"x\"");
  EXPECT_EQ(refusal("k = 1", [](StrictTable& table) { return table.flag("k"); }),
            "paper/x.toml:1:1: item.k: expected true or false, got 1");
  const auto whole = [](StrictTable& table) { return table.integer("k", 1); };
  EXPECT_EQ(refusal("k = 0", whole), "paper/x.toml:1:1: item.k: expected a whole number from 1, got 0");
  EXPECT_EQ(refusal("k = 1.5", whole), "paper/x.toml:1:1: item.k: expected a whole number from 1, got 1.5");
  const auto texts = [](StrictTable& table) { return table.texts("k"); };
  EXPECT_EQ(refusal("k = 'x'", texts), "paper/x.toml:1:1: item.k: expected a list of texts, got \"x\"");
  EXPECT_EQ(refusal("k = ['x', 2]", texts), "paper/x.toml:1:11: item.k: expected a list of texts, got in it 2");
  EXPECT_EQ(refusal("k = 1", [](StrictTable& table) { return table.table("k"); }),
            "paper/x.toml:1:1: item.k: expected a table, got 1");
  const auto tables = [](StrictTable& table) { return table.tables("k"); };
  EXPECT_EQ(refusal("k = 1", tables), "paper/x.toml:1:1: item.k: expected a list of tables, got 1");
  EXPECT_EQ(refusal("k = [{}, 1]", tables), "paper/x.toml:1:10: item.k: expected a table, got 1");
  EXPECT_EQ(refusal("k = 1", [](StrictTable& table) { return table.leaves("k"); }),
            "paper/x.toml:1:1: item.k: expected a table of keys of the recipe, got 1");
}

TEST(StrictTable, NamesAnUnknownKeyAndTheNearest) {
  const auto ask = [](StrictTable& table) {
    static_cast<void>(table.text("label"));
    static_cast<void>(table.text("shows"));
    table.check_keys();
    return 0;
  };
  EXPECT_EQ(refusal("label = 'a'\nlables = 'b'", ask),
            "paper/x.toml:2:1: item.lables: there is no such key; the nearest is \"label\"");
  EXPECT_EQ(refusal("show = 'a'", ask), "paper/x.toml:1:1: item.show: there is no such key; the nearest is \"shows\"");
}

TEST(StrictTable, NamesAKeyThatIsMissingOrEmpty) {
  const auto ask = [](StrictTable& table) {
    const auto text = table.required_text("label");
    table.check_keys();
    return text;
  };
  EXPECT_EQ(refusal("", ask), "paper/x.toml:1:1: item.label: expected a text, and the key is missing");
  EXPECT_EQ(refusal("label = ''", ask), "paper/x.toml:1:1: item.label: expected a text that is not empty");
  EXPECT_EQ(refusal("lable = 'x'", ask), "paper/x.toml:1:1: item.lable: there is no such key; the nearest is \"label\"")
      << "a misspelt key explains the missing one";
}

TEST(StrictTable, LeavesHaveDottedNamesInTheOrderOfTheFile) {
  const auto tree =
      tree_of("[match]\nmodel.heads = 2\ndata = { name = 'x', folder = '' }\nmodel.dim = [1]\nseed = 1\n");
  StrictTable table(tree, "");
  const auto leaves = table.leaves("match");
  ASSERT_TRUE(leaves);
  std::vector<std::string> keys;
  for (const auto& leaf : *leaves) keys.push_back(leaf.key);
  EXPECT_EQ(keys, (std::vector<std::string>{"model.heads", "data.name", "data.folder", "model.dim", "seed"}));
}

}  // namespace
}  // namespace quest::paper
