#pragma once
// The port of FileReader (file_reader.hpp) to memory that the CPU can address: the program's own
// calls, and for a plan a channel with an engine of io::make_direct().
//
// A port makes a Use for each request; read_steps.hpp lists its functions. Here it costs nothing
// until a request needs a plan.
//
// Threading: HostPort from any thread; a Use has one owner.

#include <sys/types.h>
#include <unistd.h>

#include <cerrno>
#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <memory>
#include <mutex>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "io/engine/engine.hpp"
#include "io/file/direct_file.hpp"
#include "router/file/open_files.hpp"
#include "router/plan/planner.hpp"
#include "router/read/execution.hpp"
#include "router/read/file_reader.hpp"
#include "router/read/reader_parts.hpp"

namespace k2k::router {

// The resources of one request with a plan.
struct HostChannel {
  // Empty: the memory is not available.
  std::span<std::byte> bounce_memory();

  struct Free {
    void operator()(std::byte* memory) const { std::free(memory); }
  };
  std::unique_ptr<io::Engine> engine;
  Planner planner;
  Execution execution{part_pages + 1};
  std::vector<std::uint8_t> residency = std::vector<std::uint8_t>(part_pages + 1);
  std::unique_ptr<std::byte, Free> bounce{};  // Made when first needed.
};

// A channel for each request in progress, made when first needed.
class HostChannels {
 public:
  explicit HostChannels(const ReaderConfig& config)
      : model_(config.model),
        channels_max_(config.channels_max),
        outstanding_(config.outstanding) {}

  // Waits for a channel. Null: no engine can be made, or no channel is given back in time; a file
  // system that hangs holds all of them.
  std::unique_ptr<HostChannel> take();
  void give_back(std::unique_ptr<HostChannel> channel);
  // In the child of fork(): leaves the parent's channels alone, because it shares their kernel side
  // with the parent.
  void abandon();

 private:
  // Null: no engine can be made, or the memory is not available.
  std::unique_ptr<HostChannel> make() const;

  const Model model_;
  const std::uint32_t channels_max_;
  const std::uint32_t outstanding_;
  std::mutex mutex_;
  std::condition_variable given_back_;
  std::vector<std::unique_ptr<HostChannel>> free_;
  std::uint32_t made_ = 0;
};

class HostPort {
 public:
  // A read that took this long, and twice its copy, was not from memory.
  static constexpr double slow_ns = 20'000;

  explicit HostPort(const ReaderConfig& config) : channels_(config) {}

  // For ReaderConfig::model_of.
  [[nodiscard]] static std::string engine_name() { return {}; }
  // Bodies of writes that long may go past the page cache; 0: none may.
  static std::uint64_t direct_write_bytes(const ReaderConfig& config) {
    return config.exclusive ? config.direct_write_bytes : 0;
  }
  // The bytes that one read may move. Linux checks the memory of all requested bytes, though it
  // moves less at once; it is left to refuse an address where no program can have memory.
  static std::size_t bytes_at_once(const void* memory, std::size_t bytes) {
    if (bytes <= io::transfer_bytes_max) [[likely]]
      return bytes;
    return can_be_memory(memory, bytes) ? io::transfer_bytes_max : bytes;
  }
  // Without memory for the router's way, Linux' way is left, which takes none.
  static ssize_t read_without_memory(const FileRequest& request) { return Use::read(request); }
  static ssize_t write_without_memory(const FileRequest& request) { return Use::write(request); }
  // read(memory) into the request's memory, by a thread that must not wait.
  template <class Read>
  static ssize_t read_at_once(const FileRequest& request, Read read) {
    return read(request.memory);
  }
  // A twin is about to be closed.
  static void ending(const OpenFile&) {}
  void after_fork_child() { channels_.abandon(); }

  class Use {
   public:
    explicit Use(HostPort& port) : port_(port) {}
    ~Use() {
      if (channel_) port_.channels_.give_back(std::move(channel_));
    }
    Use(const Use&) = delete;
    Use& operator=(const Use&) = delete;

    // 0, or a negative errno: nothing else may be called.
    static constexpr ssize_t refusal() { return 0; }
    // One pread(2), as the program would have made it.
    static ssize_t read(const FileRequest& request) {
      const ssize_t count = ::pread(request.descriptor, request.memory, request.bytes,
                                    static_cast<off_t>(request.offset));
      return count < 0 ? -errno : count;
    }
    static bool is_transfer(const FileRequest& request, const io::Alignment& alignment) {
      return is_one_transfer(request, alignment);
    }
    static Outcome transfer(const FileRequest& request, const OpenFile&,
                            const io::DirectFile& direct) {
      return read_directly(request, direct);
    }
    // Takes a channel, and a bounce buffer for memory that is aligned differently from the file.
    bool prepare(const FileRequest& request, const OpenFile& file, const io::DirectFile& direct,
                 Counters& counters);
    [[nodiscard]] std::size_t part_bytes_max() const;
    [[nodiscard]] std::span<std::uint8_t> residency(std::size_t pages) const {
      return {channel_->residency.data(), pages};
    }
    [[nodiscard]] Outcome run(const FileRequest& part, Residency residency, const OpenFile& file,
                              const io::DirectFile& direct) const;
    static ssize_t write(const FileRequest& request) {
      const ssize_t count = ::pwrite(request.descriptor, request.memory, request.bytes,
                                     static_cast<off_t>(request.offset));
      return count < 0 ? -errno : count;
    }
    static ssize_t whole(const WholeCall& call) { return call_kernel(call, call.pieces); }

   private:
    HostPort& port_;
    std::unique_ptr<HostChannel> channel_;
    std::span<std::byte> bounce_;
  };

 private:
  // Can a program have memory there?
  static bool can_be_memory(const void* memory, std::size_t bytes);

  HostChannels channels_;
  const bool can_bounce_ = can_copy_checked();
};

}  // namespace k2k::router
