#pragma once

// Keeps threads that work ahead from working while others are measured.

#include <condition_variable>
#include <mutex>

namespace quest::bench {

class Gate {
 public:
  void open();
  // Returns when nobody is inside any more.
  void close();

  // Waits until the gate is open; whoever holds the passage is inside.
  class Passage {
   public:
    explicit Passage(Gate& gate);
    ~Passage();
    Passage(const Passage&) = delete;
    Passage& operator=(const Passage&) = delete;

   private:
    Gate& gate_;
  };

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  bool is_open_ = false;
  int inside_ = 0;
};

// Keeps the calling thread computing until it has had that much time of a processor, however many threads want one.
void spend_processor_time(double seconds);

}  // namespace quest::bench
