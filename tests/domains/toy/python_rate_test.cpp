#include "domains/toy/python_rate.h"

#include <gtest/gtest.h>

#include <fstream>
#include <nlohmann/json.hpp>
#include <stdexcept>

#include "tests/testing/temporary_folder.h"

namespace quest::toy {
namespace {

using testing::TemporaryFolder;

// A program instead of Python, which is given -c, the loop and its settings.
std::string program(const TemporaryFolder& folder, const std::string& commands) {
  const auto path = folder.path() / "python";
  std::ofstream(path) << "#!/bin/sh\n" << commands << "\n";
  std::filesystem::permissions(path, std::filesystem::perms::owner_all);
  return path.string();
}

std::string failure_of(const std::string& python) {
  try {
    static_cast<void>(python_trainings_per_second({}, python, 2));
  } catch (const std::runtime_error& error) {
    return error.what();
  }
  return "no exception";
}

TEST(PythonRate, IsTheLastLineOfTheLoop) {
  const TemporaryFolder folder;
  const auto python = program(folder, "echo a warning >&2; echo 12.5");
  EXPECT_EQ(python_trainings_per_second({}, python, 2), 12.5);
}

TEST(PythonRate, TheLoopHearsWhatIsTrained) {
  const TemporaryFolder folder;
  const auto heard = folder.path() / "heard";
  const auto python = program(folder, "printf %s \"$3\" >" + heard.string() + "; echo 1");
  const SpuriousSettings settings{.formulation = formulations::qknorm_hs,
                                  .wiring = engine::Wiring::algorithm,
                                  .sizes = {.tokens = 7, .training_samples = 40, .test_samples = 9},
                                  .epochs = 3,
                                  .batch_size = 8};
  static_cast<void>(python_trainings_per_second(settings, python, 2));
  auto json = nlohmann::json::parse(testing::text_of(heard));
  EXPECT_GT(json.at("seconds"), 0.0);
  json.erase("seconds");
  EXPECT_EQ(json,
            nlohmann::json::parse(R"({"wiring": "algorithm", "normalize_q": true, "normalize_k": true, "scale": 1.0,
      "gain": "logarithm", "tokens": 7, "samples": 40, "batch": 8, "epochs": 3, "processes": 2})"));
}

TEST(PythonRate, SaysWhatPythonSaid) {
  const TemporaryFolder folder;
  EXPECT_NE(
      failure_of(program(folder, "echo No module named torch >&2; exit 1")).find("said: No module named torch; name"),
      std::string::npos);
  EXPECT_NE(failure_of(program(folder, "echo 12.5; exit 3")).find("could not run"), std::string::npos);
  EXPECT_NE(failure_of(program(folder, "echo 12.5 trainings")).find("said: 12.5 trainings"), std::string::npos);
  EXPECT_NE(failure_of(program(folder, "true")).find("said: nothing"), std::string::npos);
  EXPECT_NE(failure_of("/no/such/python").find("/no/such/python"), std::string::npos);
}

}  // namespace
}  // namespace quest::toy
