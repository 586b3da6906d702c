#include <c10/util/Exception.h>

#include "train/distributed/backends.h"

namespace quest::train {

c10::intrusive_ptr<c10d::Backend> nccl_backend(const BackendPlace& /*place*/) {
  TORCH_CHECK(false, "training in several processes on GPUs needs NCCL, which this program was built without; ",
              "build with a torch that has CUDA and with NCCL's header nccl.h beside it, or train on the CPU");
}

}  // namespace quest::train
