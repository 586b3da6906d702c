#pragma once

// Work in a thread of its own that goes on only while it has its turn, so that loops which know nothing of each other
// can be measured in turns.

#include <exception>
#include <functional>
#include <semaphore>
#include <thread>

namespace quest::bench {

class TurnThread {
 public:
  // Calls `work` at the first resume(). Its argument gives the turn back, and returns when the next one begins; when
  // this object goes, it throws something through the work instead.
  explicit TurnThread(std::function<void(const std::function<void()>& pause)> work);
  ~TurnThread();
  TurnThread(const TurnThread&) = delete;
  TurnThread& operator=(const TurnThread&) = delete;

  // Until the work pauses or ends. Throws what the work threw, and std::logic_error where it is over.
  void resume();

  [[nodiscard]] bool is_over() const { return is_over_; }

 private:
  void pause();
  void run();

  std::function<void(const std::function<void()>&)> work_;
  std::binary_semaphore turn_{0};
  std::binary_semaphore turn_is_over_{0};
  bool is_ending_ = false;
  bool is_over_ = false;
  std::exception_ptr problem_;
  std::thread thread_;
};

}  // namespace quest::bench
