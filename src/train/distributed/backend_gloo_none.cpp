#include <c10/util/Exception.h>

#include "train/distributed/backends.h"

namespace quest::train {

c10::intrusive_ptr<c10d::Backend> gloo_backend(const BackendPlace& /*place*/) {
  TORCH_CHECK(false, "training in several processes needs Gloo, whose headers this program was built without; ",
              "install libgloo-dev and build again");
}

}  // namespace quest::train
