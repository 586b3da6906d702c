#include "domains/domain.h"

#include <string>

#include "data/sets/fashion_mnist.h"
#include "domains/images/image_loop.h"
#include "domains/images/image_task.h"
#include "quest/models/vit.h"

namespace quest::images {
namespace {

std::vector<std::pair<std::string, std::string>> loop_facts(train::Task& task) {
  const auto& options = dynamic_cast<models::ViTImpl&>(task.model()).options;
  return {{"image_size", std::to_string(options.image_size())},
          {"channels", std::to_string(options.channels())},
          {"classes", std::to_string(options.classes())}};
}

}  // namespace

domains::Domain domain() {
  return {.name = "images",
          .tasks = {{.name = "image",
                     .summary = "classify images with a vision transformer",
                     .factory = image_task_factory,
                     .python_loop = domains::PythonLoop{.program = kImageLoop, .facts = loop_facts}}},
          .data_sets = {data::fashion_mnist_set()}};
}

}  // namespace quest::images
