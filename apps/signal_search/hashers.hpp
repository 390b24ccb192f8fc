#pragma once
// Threads of the host that compute the SHA-512 digest of each block of results, once each, as soon
// as a signal names the block.
//
//   a signal         a thread takes it, and hashes its block, unless a thread has taken that block
//   all_are_ready()  the kernel has ended: the threads hash what no signal named, and end
//
// A signal is checked before it is believed: it must come from this process, name a block, and that
// block must be ready. So a stray signal does no harm.
//
// Threading: made and finished by one thread. The signal must be blocked in every thread of the
// process before the first one starts.

#include <array>
#include <atomic>
#include <csignal>
#include <cstdint>
#include <thread>
#include <vector>

#include "apps/signal_search/job.hpp"
#include "base/result.hpp"

namespace k2k::signal_search {

using Digest = std::array<unsigned char, 64>;

Digest digest_of(const Job& job, std::uint32_t block);

class Hashers {
 public:
  explicit Hashers(const Job& job);
  ~Hashers();
  Hashers(const Hashers&) = delete;
  Hashers& operator=(const Hashers&) = delete;

  // Errors: EAGAIN (no thread).
  Status begin(std::uint32_t threads);
  // Every block is ready. Returns once all are hashed, by the threads of begin().
  void all_are_ready();
  // begin() and all_are_ready(), for a kernel that has ended. Errors: as begin().
  Status hash_all(std::uint32_t threads);

  [[nodiscard]] const std::vector<Digest>& digests() const { return digests_; }
  // After all_are_ready(): blocks that a signal named, that none did, and signals of no block.
  [[nodiscard]] std::uint32_t signalled() const { return signalled_.load(); }
  [[nodiscard]] std::uint32_t swept() const { return swept_.load(); }
  [[nodiscard]] std::uint32_t strays() const { return strays_.load(); }

 private:
  void work();
  bool take_signal(const timespec& limit);  // False: none came in this time.
  void accept(const siginfo_t& signal);
  bool claim(std::uint32_t block);
  void stop_taking();
  void sweep();

  const Job& job_;
  std::vector<Digest> digests_;
  std::vector<std::atomic<bool>> claimed_;
  std::vector<std::thread> threads_;
  std::atomic<bool> complete_{false};
  std::atomic<std::uint32_t> taking_{0};  // Threads that may still claim a block by its signal.
  std::atomic<std::uint32_t> next_swept_{0};
  std::atomic<std::uint32_t> signalled_{0};
  std::atomic<std::uint32_t> swept_{0};
  std::atomic<std::uint32_t> strays_{0};
};

}  // namespace k2k::signal_search
