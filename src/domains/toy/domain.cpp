#include "domains/domain.h"

namespace quest::toy {

domains::Domain domain() { return {.name = "toy", .tasks = {}}; }

}  // namespace quest::toy
