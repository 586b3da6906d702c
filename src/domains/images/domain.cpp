#include "domains/domain.h"

#include "domains/images/image_task.h"

namespace quest::images {

domains::Domain domain() {
  return {.name = "images",
          .tasks = {{.name = "image",
                     .summary = "classify images with a vision transformer",
                     .factory = image_task_factory}}};
}

}  // namespace quest::images
