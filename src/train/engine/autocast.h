#pragma once

// Runs what is made while it lives in bfloat16 where torch's autocast rules say so.

#include <ATen/autocast_mode.h>

namespace quest::train {

class Autocast {
 public:
  Autocast(bool enabled, at::DeviceType device) : enabled_(enabled), device_(device) {
    if (!enabled_) return;
    before_ = at::autocast::is_autocast_enabled(device_);
    type_before_ = at::autocast::get_autocast_dtype(device_);
    at::autocast::set_autocast_enabled(device_, true);
    at::autocast::set_autocast_dtype(device_, at::kBFloat16);
    at::autocast::increment_nesting();
  }
  ~Autocast() {
    if (!enabled_) return;
    if (at::autocast::decrement_nesting() == 0) at::autocast::clear_cache();
    at::autocast::set_autocast_dtype(device_, type_before_);
    at::autocast::set_autocast_enabled(device_, before_);
  }
  Autocast(const Autocast&) = delete;
  Autocast& operator=(const Autocast&) = delete;

 private:
  bool enabled_;
  at::DeviceType device_;
  bool before_ = false;
  at::ScalarType type_before_ = at::kBFloat16;
};

}  // namespace quest::train
