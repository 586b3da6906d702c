#include "train/distributed/communicator.h"

#include <torch/torch.h>

#include <chrono>
#include <csignal>
#include <thread>
#include <torch/csrc/distributed/c10d/PrefixStore.hpp>
#include <torch/csrc/distributed/c10d/TCPStore.hpp>

#include "train/distributed/backends.h"
#include "train/distributed/launch_environment.h"
#include "train/distributed/liveness.h"

namespace quest::train {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

// All processes must have found each other by then.
constexpr seconds kMeetingTime{120};
// A live process may be busy for long, with an evaluation or a slow disk; a dead one is noticed by its silence.
constexpr std::chrono::hours kLongestWait{2};
constexpr seconds kSilenceOfTheDead{30};
// Where a connection broke, the first to have stopped counting is the one that broke it.
constexpr milliseconds kSilenceAfterBreak{3500};
constexpr seconds kLongestInquiry{15};

// What a backend says of an error, without the place in its source before and the advice behind.
std::string first_sentence(std::string message) {
  if (message.starts_with('[')) message.erase(0, message.find("] ") + 1);
  message.erase(0, message.find_first_not_of(' '));
  return message.substr(0, std::min(message.find(". "), message.find('\n')));
}

class OneProcess : public Communicator {
 public:
  OneProcess() : Communicator(0, 1) {}

  std::unique_ptr<Pending> start_all_reduce_sum(const at::Tensor& /*tensor*/) override {
    struct Done : Pending {
      void wait() override {}
    };
    return std::make_unique<Done>();
  }
  void broadcast(const at::Tensor& /*tensor*/, int /*root*/) override {}
  void reduce_scatter_sum(const at::Tensor& /*parts*/) override {}
  void all_gather(const at::Tensor& /*parts*/) override {}
  void barrier() override {}
};

class Processes : public Communicator {
 public:
  // The backends serve tensors of the host and of the device; on CPUs they are the same.
  Processes(const c10::intrusive_ptr<c10d::Store>& store, const c10::intrusive_ptr<c10d::Backend>& host,
            const c10::intrusive_ptr<c10d::Backend>& device, int rank, int size)
      : Communicator(rank, size),
        parts_(std::make_unique<Parts>(store, host, device, std::make_unique<Liveness>(store, rank, size))) {}

  std::unique_ptr<Pending> start_all_reduce_sum(const at::Tensor& tensor) override {
    return std::make_unique<Started>(*this, started([&] {
      std::vector<at::Tensor> tensors{tensor};
      return backend_of(tensor).allreduce(tensors);
    }));
  }

  void broadcast(const at::Tensor& tensor, int root) override {
    wait(*started([&] {
      std::vector<at::Tensor> tensors{tensor};
      c10d::BroadcastOptions options;
      options.rootRank = root;
      return backend_of(tensor).broadcast(tensors, options);
    }));
  }

  void reduce_scatter_sum(const at::Tensor& parts) override {
    // Gloo's own is an all-reduce of a copy, and does not tell that it has failed.
    if (parts.is_cpu()) return all_reduce_sum(parts);
    wait(*started([&] {
      at::Tensor own = own_part(parts);
      at::Tensor all = parts;
      return backend_of(parts)._reduce_scatter_base(own, all);
    }));
  }

  void all_gather(const at::Tensor& parts) override {
    wait(*started([&] {
      at::Tensor own = own_part(parts);
      at::Tensor all = parts;
      return backend_of(parts)._allgather_base(all, own);
    }));
  }

  void barrier() override {
    wait(*started([&] { return parts_->host->barrier(); }));
  }

 private:
  struct Parts {
    c10::intrusive_ptr<c10d::Store> store;
    c10::intrusive_ptr<c10d::Backend> host;
    c10::intrusive_ptr<c10d::Backend> device;
    std::unique_ptr<Liveness> liveness;
    Parts(c10::intrusive_ptr<c10d::Store> s, c10::intrusive_ptr<c10d::Backend> h, c10::intrusive_ptr<c10d::Backend> d,
          std::unique_ptr<Liveness> l)
        : store(std::move(s)), host(std::move(h)), device(std::move(d)), liveness(std::move(l)) {}
  };

  using Work = c10::intrusive_ptr<c10d::Work>;

  class Started : public Pending {
   public:
    Started(Processes& processes, Work work) : processes_(processes), work_(std::move(work)) {}
    void wait() override { processes_.wait(*work_); }

   private:
    Processes& processes_;
    Work work_;
  };

  [[nodiscard]] c10d::Backend& backend_of(const at::Tensor& tensor) const {
    return tensor.is_cpu() ? *parts_->host : *parts_->device;
  }

  template <typename Start>
  Work started(const Start& start) {
    TORCH_CHECK(parts_, "another process of this training is gone");
    try {
      return start();
    } catch (const std::exception& error) {
      explain(error.what());
    }
  }

  void wait(c10d::Work& work) {
    TORCH_CHECK(parts_, "another process of this training is gone");
    while (true) {
      try {
        work.wait(seconds(1));
        return;
      } catch (const std::exception& error) {
        if (work.isCompleted()) explain(error.what());
      }
      if (const auto rank = parts_->liveness->silent_for(kSilenceOfTheDead)) give_up(*rank, "it has stopped answering");
    }
  }

  [[noreturn]] void explain(const std::string& message) {
    const std::string reason = first_sentence(message);
    const auto end = std::chrono::steady_clock::now() + kLongestInquiry;
    while (std::chrono::steady_clock::now() < end) {
      if (const auto rank = parts_->liveness->silent_for(kSilenceAfterBreak)) give_up(*rank, reason);
      std::this_thread::sleep_for(milliseconds(100));
    }
    TORCH_CHECK(false, "processes of this training can no longer exchange gradients (", reason, ")");
  }

  // Operations that wait for the dead would keep the destructors of the parts waiting too, so those never run.
  [[noreturn]] void give_up(int gone, const std::string& reason) {
    parts_->liveness->declare_gone(gone);
    static auto& abandoned = *new std::vector<std::unique_ptr<Parts>>;
    abandoned.push_back(std::move(parts_));
    TORCH_CHECK(false, "rank ", gone, " of ", size(), " is gone (", reason,
                "). Look at its own messages for the cause; the training can be resumed from its last checkpoint.");
  }

  std::unique_ptr<Parts> parts_;
};

c10::intrusive_ptr<c10d::Store> meet(const LaunchEnvironment& launch) {
  c10d::TCPStoreOptions options;
  options.port = launch.master_port;
  options.isServer = launch.rank == 0 && !launch.launcher_keeps_store;
  options.numWorkers = static_cast<std::size_t>(launch.size);
  options.waitWorkers = !launch.launcher_keeps_store;
  options.timeout = kMeetingTime;
  const auto store = c10::make_intrusive<c10d::TCPStore>(launch.master_address, options);
  if (launch.store_prefix.empty()) return store;
  return c10::make_intrusive<c10d::PrefixStore>(launch.store_prefix, store);
}

}  // namespace

at::Tensor Communicator::own_part(const at::Tensor& parts) const {
  TORCH_CHECK(parts.dim() == 1 && parts.size(0) % size() == 0, "expected one dimension of ", size(),
              " equal parts, got ", parts.sizes());
  const std::int64_t each = parts.size(0) / size();
  return parts.narrow(0, rank() * each, each);
}

std::unique_ptr<Communicator> communicator_from_environment(const at::Device& device) {
  const LaunchEnvironment launch = launch_environment(environment_variable);
  if (launch.size == 1) return std::make_unique<OneProcess>();
  // Gloo writes to connections whose other end may be gone; that must become an error, not the end of this process.
  std::signal(SIGPIPE, SIG_IGN);
  const auto store = meet(launch);
  const auto place = [&](const std::string& prefix) {
    return BackendPlace{c10::make_intrusive<c10d::PrefixStore>(prefix, store), launch, kLongestWait};
  };
  // A GPU need not wait for numbers that the host exchanges.
  const auto host = gloo_backend(place("host"));
  const auto own = device.is_cuda() ? nccl_backend(place("device")) : host;
  return std::make_unique<Processes>(store, host, own, launch.rank, launch.size);
}

}  // namespace quest::train
