#pragma once
// For tests: a router for which every read waits for a disk until it is let go. It reads nothing.
//
// Threading: any thread.

#include <cerrno>
#include <condition_variable>
#include <cstddef>
#include <mutex>

#include "router/read/file_reader.hpp"

namespace k2k::services {

class WaitingReader final : public router::FileReader {
 public:
  ssize_t try_pread(int, void*, std::size_t, std::int64_t) override { return -EAGAIN; }
  ssize_t pread(int, void*, std::size_t bytes, std::int64_t) override {
    std::unique_lock lock(mutex_);
    ++inside_;
    changed_.notify_all();
    changed_.wait(lock, [this] { return is_let_go_; });
    --inside_;
    return static_cast<ssize_t>(bytes);
  }
  [[nodiscard]] bool is_plain(int, std::size_t, std::int64_t) const override { return false; }
  void note_plain(int, std::size_t, std::int64_t, ssize_t, std::uint64_t) override {}
  ssize_t pwrite(int, const void*, std::size_t, std::int64_t) override { return -EIO; }
  ssize_t whole(const router::WholeCall&) override { return -EIO; }
  int advise(int, std::int64_t, std::int64_t, int) override { return 0; }
  void used_by_host(int, std::int64_t, std::uint64_t) override {}
  [[nodiscard]] std::uint64_t pages_held() const override { return 0; }
  void closing(int) override {}
  void forget(int, std::uint64_t, std::uint64_t) override {}
  void after_fork_child() override {}
  [[nodiscard]] router::ReaderStats stats() const override { return {}; }

  void let_go() {
    const std::lock_guard lock(mutex_);
    is_let_go_ = true;
    changed_.notify_all();
  }
  // Until so many reads wait at the same time.
  void await_inside(int reads) {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [&] { return inside_ >= reads; });
  }
  [[nodiscard]] int inside() const {
    const std::lock_guard lock(mutex_);
    return inside_;
  }

 private:
  mutable std::mutex mutex_;
  std::condition_variable changed_;
  int inside_ = 0;
  bool is_let_go_ = false;
};

}  // namespace k2k::services
