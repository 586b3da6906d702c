// Writes events of a training that was interrupted after step 5 and resumed from step 3, for test_events.py.
//   Usage: write_events FOLDER

#include <cmath>
#include <limits>
#include <vector>

#include "train/run/event_file.h"

int main(int /*count*/, char** arguments) {
  using quest::train::EventFile;
  {
    EventFile events(arguments[1], 0);
    for (int step = 1; step <= 5; ++step) events.add_scalar("train/loss", 1.0 / step, step);
    events.add_scalar("ünïcode", std::numeric_limits<double>::quiet_NaN(), 5);
  }
  EventFile events(arguments[1], 3);
  for (int step = 4; step <= 1000; ++step) events.add_scalar("train/loss", 10.0 / step, step);
  events.add_scalar("large step", -1.5, std::int64_t{1} << 40);
  std::vector<double> values = {std::numeric_limits<double>::quiet_NaN(), std::numeric_limits<double>::infinity()};
  events.add_histogram("nothing finite", values, 1);
  for (int i = 0; i < 300; ++i) values.push_back(std::sqrt(static_cast<double>(i)) - 3.0);
  events.add_histogram("norms", values, 7);
  events.add_histogram("one value", std::vector<double>{2.5, 2.5}, 7);
}
