#pragma once
// The server: a UDP socket, the table, a kernel or threads that serve GETs, threads that serve the
// rest.
//
//   kernel, relaunch   groups receive all datagrams, answer GETs, and forward the rest over an
//   inner
//                      pair of sockets to the threads, which answer the client themselves
//   direct             the same, with the groups' calls by libc: the cpu backend alone, a group a
//   unit threads            threads receive and answer everything: the CPU's counterpart
//
// Threading: start() and stop() from one thread; counters() from any.

#include <atomic>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "apps/common/device_blocks.hpp"
#include "apps/memcached/kernel.hpp"
#include "apps/memcached/store.hpp"
#include "base/descriptor.hpp"
#include "runtime/settings/config.hpp"

namespace k2k::memcached {

enum class By : std::uint8_t { kernel, direct, relaunch, threads };

struct ServerOptions {
  By by = By::kernel;
  std::uint32_t port = 0;  // 0: Linux chooses one.
  std::uint32_t buckets = 16;
  std::uint32_t elements = 1024;
  std::uint32_t groups = 0;  // 0: the device's default.
  std::uint32_t items = 0;
  std::uint32_t threads = 0;  // That serve what kernels do not; 0: the default of the way.
};

class Server {
 public:
  // Binds to the loopback address and begins to serve. Errors: those of socket(2) and bind(2); as
  // Runtime::create(); ENOMEM, with the table's size; EAGAIN (no thread).
  static Result<std::unique_ptr<Server>> start(const ServerOptions& options,
                                               const RuntimeConfig& config);
  ~Server();
  Server(const Server&) = delete;
  Server& operator=(const Server&) = delete;

  // Ends the kernel and the threads; returns the launch's error, if it had one.
  Status stop();

  [[nodiscard]] std::uint32_t port() const { return port_; }
  // Of the kernel.
  [[nodiscard]] std::uint32_t groups() const { return shape_.groups; }
  // The sums over all groups; `gets` of threads included.
  [[nodiscard]] ServeCounters counters() const;

 private:
  explicit Server(const ServerOptions& options) : options_(options) {}
  Status open_sockets();
  Status make_job(const RuntimeConfig& config);
  Status start_threads();
  void serve_kernel();
  void serve_requests();
  void wake_groups() const;

  ServerOptions options_;
  std::uint32_t port_ = 0;
  Descriptor socket_;
  Descriptor inner_from_;  // Groups send into it.
  Descriptor inner_to_;    // Threads read from it.
  std::unique_ptr<Runtime> runtime_;
  std::unique_ptr<apps::DeviceBlocks> blocks_;
  std::vector<std::uint64_t> host_memory_[3];  // The table without a device.
  LaunchShape shape_;
  Job job_;
  std::unique_ptr<Store> store_;
  std::atomic<bool> stopping_{false};
  std::atomic<bool> kernel_ended_{false};
  std::atomic<std::uint64_t> thread_gets_{0};
  std::atomic<std::uint64_t> thread_dropped_{0};
  std::atomic<std::uint64_t> thread_unsent_{0};
  Status launched_;  // The kernel thread's, until it has ended.
  std::thread kernel_;
  std::vector<std::thread> threads_;
};

}  // namespace k2k::memcached
