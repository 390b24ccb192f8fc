#include "apps/signal_search/hashers.hpp"

#include <fmt/format.h>
#include <openssl/sha.h>
#include <unistd.h>

#include <cerrno>
#include <system_error>

#include "device/atomic.hpp"

namespace k2k::signal_search {

namespace {

constexpr timespec moment{0, 1'000'000};  // Between two looks for the end.
constexpr timespec at_once{0, 0};

}  // namespace

Digest digest_of(const Job& job, std::uint32_t block) {
  const BlockRange range = range_of(job, block);
  Digest digest;
  ::SHA512(reinterpret_cast<const unsigned char*>(job.results + range.first),
           range.count * sizeof(Record), digest.data());
  return digest;
}

Hashers::Hashers(const Job& job) : job_(job), digests_(job.blocks), claimed_(job.blocks) {}

Hashers::~Hashers() { all_are_ready(); }

Status Hashers::begin(std::uint32_t threads) {
  try {
    for (std::uint32_t thread = 0; thread < threads; ++thread) {
      taking_.fetch_add(1, std::memory_order_relaxed);
      threads_.emplace_back([this] { work(); });
    }
  } catch (const std::system_error& failure) {
    stop_taking();
    return Error{EAGAIN,
                 fmt::format("no thread to hash with ({}); raise ulimit -u", failure.what())};
  }
  return {};
}

void Hashers::all_are_ready() {
  complete_.store(true, std::memory_order_release);  // Pairs with work().
  for (std::thread& thread : threads_) thread.join();
  threads_.clear();
}

Status Hashers::hash_all(std::uint32_t threads) {
  complete_.store(true, std::memory_order_release);
  Status begun = begin(threads);
  all_are_ready();
  return begun;
}

void Hashers::work() {
  while (!complete_.load(std::memory_order_acquire)) take_signal(moment);
  // What has been sent is still counted as signalled.
  while (take_signal(at_once)) {
  }
  stop_taking();
  // Another thread may have taken a signal, and not claimed its block yet.
  for (std::uint32_t left; (left = taking_.load(std::memory_order_acquire)) != 0;) {
    taking_.wait(left, std::memory_order_acquire);
  }
  sweep();
}

void Hashers::stop_taking() {
  taking_.fetch_sub(1, std::memory_order_release);
  taking_.notify_all();
}

bool Hashers::take_signal(const timespec& limit) {
  if (job_.number == 0) return false;  // The kernel sends none.
  sigset_t set;
  sigemptyset(&set);
  sigaddset(&set, job_.number);
  siginfo_t signal{};
  if (::sigtimedwait(&set, &signal, &limit) < 0) return false;
  accept(signal);
  return true;
}

void Hashers::accept(const siginfo_t& signal) {
  const auto value = reinterpret_cast<std::uintptr_t>(signal.si_value.sival_ptr);
  const bool ours =
      signal.si_code == SI_QUEUE && signal.si_pid == ::getpid() && value < job_.blocks;
  // Pairs with the kernel's release: the block's results are there.
  if (!ours ||
      k2k::AtomicRef(job_.ready[value]).load(k2k::memory_order_acquire, k2k::memory_scope_system) ==
          0) {
    strays_.fetch_add(1, std::memory_order_relaxed);
    return;
  }
  // Only host threads change the word; the device reads it.
  __atomic_fetch_add(job_.taken, 1u, __ATOMIC_RELAXED);
  const auto block = static_cast<std::uint32_t>(value);
  if (!claim(block)) return;
  signalled_.fetch_add(1, std::memory_order_relaxed);
  digests_[block] = digest_of(job_, block);
}

bool Hashers::claim(std::uint32_t block) {
  return !claimed_[block].exchange(true, std::memory_order_relaxed);
}

void Hashers::sweep() {
  while (true) {
    const std::uint32_t block = next_swept_.fetch_add(1, std::memory_order_relaxed);
    if (block >= job_.blocks) return;
    if (!claim(block)) continue;
    swept_.fetch_add(1, std::memory_order_relaxed);
    digests_[block] = digest_of(job_, block);
  }
}

}  // namespace k2k::signal_search
