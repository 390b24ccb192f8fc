#include "bench/gpu/file_ways.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <k2k/k2k.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <span>
#include <utility>

#include "base/huge_pages.hpp"
#include "bench/gpu/file_data.hpp"
#include "io/gpu/device_engines.hpp"
#include "io/gpu/gpu_file.hpp"
#include "io/memory/cuda_memory.hpp"
#include "io/memory/gdr_memory.hpp"
#include "router/door/files.hpp"
#include "router/read/registered_memory.hpp"

namespace k2k::bench {

namespace {

// Calls of[`block` bytes at `offset`] until the pass is complete: a count, or a negative errno.
template <class Call>
Status each_block(const Pass& pass, const char* what, Call call) {
  for (std::size_t offset = 0; offset < pass.bytes; offset += pass.block) {
    const std::int64_t count = call(offset);
    if (count == static_cast<std::int64_t>(pass.block)) continue;
    const std::string got =
        count < 0 ? std::strerror(static_cast<int>(-count)) : fmt::format("{} bytes", count);
    return Error{EIO, fmt::format("{} of {} bytes at {}: {}", what, pass.block, offset, got)};
  }
  return {};
}

std::int64_t answer_of(ssize_t count) { return count < 0 ? -std::int64_t{errno} : count; }

class Ways final : public FileWays {
 public:
  explicit Ways(CudaDriver& driver) : driver_(driver), files_(nullptr) {}
  ~Ways() override {
    k2k_files_destroy(reader_);
    if (registered_) k2k_memory_unregister(device_);
  }

  Status begin(std::size_t room, std::size_t block_max, bool cufile) {
    const auto device = driver_.device(room);
    if (!device) return device.error();
    device_ = device.value();
    for (std::span<std::byte>& buffer : pinned_) {
      const auto pinned = driver_.pinned(block_max);
      if (!pinned) return pinned.error();
      buffer = pinned.value();
    }
    pageable_.reset(static_cast<std::byte*>(allocate_in_huge_pages(page_of_file, block_max)));
    if (!pageable_) return Error{ENOMEM, fmt::format("no memory for a block of {}", block_max)};
    std::memset(pageable_.get(), 1, block_max);
    if (k2k_files_create(nullptr, &reader_) != 0) return Error{EIO, k2k_last_error()};
    if (k2k_memory_register(device_, room, k2k_memory_cuda) != 0) {
      return Error{EIO, k2k_last_error()};
    }
    registered_ = true;
    if (cufile) open_cufile();
    open_gdrcopy(room);
    add_reads();
    add_writes();
    return {};
  }

  [[nodiscard]] const std::vector<Way>& reads() const override { return reads_; }
  [[nodiscard]] const std::vector<Way>& writes() const override { return writes_; }

  Status fill(std::size_t bytes, std::uint64_t seed) override {
    const std::span<std::byte> part = pinned_[0];
    for (std::size_t at = 0; at < bytes; at += part.size()) {
      const std::span<std::byte> now = part.first(std::min(part.size(), bytes - at));
      fill_content(now, at, seed);
      if (Status status = in(now.data(), at, now.size()); !status) return status;
    }
    return {};
  }
  Result<std::uint64_t> wrong(std::size_t bytes, std::uint64_t seed) override {
    const std::span<std::byte> part = pinned_[0];
    std::uint64_t wrong = 0;
    for (std::size_t at = 0; at < bytes; at += part.size()) {
      const std::span<std::byte> now = part.first(std::min(part.size(), bytes - at));
      if (Status status = out(now.data(), at, now.size()); !status) return status.error();
      wrong += wrong_words(now, at, seed);
    }
    return wrong;
  }
  [[nodiscard]] Routed routed() const override {
    const router::ReaderStats stats = router::RegisteredMemory::of_process().stats();
    return {stats.bytes_cache, stats.bytes_direct};
  }

 private:
  struct Free {
    void operator()(std::byte* memory) const { std::free(memory); }
  };

  // One copy, complete when it returns.
  Status in(const std::byte* host, std::size_t offset, std::size_t bytes) {
    if (Status status = driver_.copy_in(device_ + offset, host, bytes); !status) return status;
    return driver_.wait();
  }
  Status out(std::byte* host, std::size_t offset, std::size_t bytes) {
    if (Status status = driver_.copy_out(host, device_ + offset, bytes); !status) return status;
    return driver_.wait();
  }

  void add_reads() {
    const auto by_k2k = [this](const Pass& pass) {
      return each_block(pass, "k2k_files_pread", [&](std::size_t offset) {
        return k2k_files_pread(reader_, pass.descriptor, device_ + offset, pass.block,
                               static_cast<std::int64_t>(offset));
      });
    };
    const auto by_copy = [this](const Pass& pass, std::byte* buffer) {
      Status copied;
      Status status = each_block(pass, "pread", [&](std::size_t offset) -> std::int64_t {
        const ssize_t count =
            ::pread(pass.descriptor, buffer, pass.block, static_cast<off_t>(offset));
        if (count != static_cast<ssize_t>(pass.block)) return answer_of(count);
        copied = in(buffer, offset, pass.block);
        return copied ? count : -EIO;
      });
      return copied ? status : copied;
    };
    const auto closing = [this](int descriptor) { k2k_files_closing(reader_, descriptor); };
    const auto by_pinned = [=, this](const Pass& pass) { return by_copy(pass, pinned_[0].data()); };
    const auto by_pageable = [=, this](const Pass& pass) { return by_copy(pass, pageable_.get()); };
    reads_.push_back({.name = "k2k", .run = by_k2k, .closing = closing});
    reads_.push_back({.name = "pinned", .run = by_pinned});
    reads_.push_back({.name = "pageable", .run = by_pageable});
    reads_.push_back(
        {.name = "pinned, two", .run = [this](const Pass& pass) { return in_turns(pass); }});
    reads_.push_back({.name = "O_DIRECT, pinned", .flags = O_DIRECT, .run = by_pinned});
    reads_.push_back(gdrcopy_way());
    reads_.push_back(cufile_way(io::Direction::read));
  }

  void add_writes() {
    const auto by_k2k = [this](const Pass& pass) {
      return each_block(pass, "Files::pwrite", [&](std::size_t offset) {
        return files_.pwrite(pass.descriptor, device_ + offset, pass.block,
                             static_cast<std::int64_t>(offset));
      });
    };
    const auto by_copy = [this](const Pass& pass, std::byte* buffer) {
      Status copied;
      Status status = each_block(pass, "pwrite", [&](std::size_t offset) -> std::int64_t {
        copied = out(buffer, offset, pass.block);
        if (!copied) return -EIO;
        return answer_of(::pwrite(pass.descriptor, buffer, pass.block, static_cast<off_t>(offset)));
      });
      return copied ? status : copied;
    };
    const auto closing = [this](int descriptor) { files_.closing(descriptor); };
    writes_.push_back({.name = "k2k", .run = by_k2k, .closing = closing});
    writes_.push_back({.name = "pinned", .run = [=, this](const Pass& pass) {
                         return by_copy(pass, pinned_[0].data());
                       }});
    writes_.push_back({.name = "pageable", .run = [=, this](const Pass& pass) {
                         return by_copy(pass, pageable_.get());
                       }});
    writes_.push_back(cufile_way(io::Direction::write));
  }

  // Two buffers: read into one while the device copies the other.
  Status in_turns(const Pass& pass) {
    std::size_t turn = 0;
    Status copied;
    Status status = each_block(pass, "pread", [&](std::size_t offset) -> std::int64_t {
      std::byte* const buffer = pinned_[turn++ % 2].data();
      const ssize_t count =
          ::pread(pass.descriptor, buffer, pass.block, static_cast<off_t>(offset));
      // The copy of the block before, from the other buffer.
      if (copied = driver_.wait(); !copied) return -EIO;
      if (count != static_cast<ssize_t>(pass.block)) return answer_of(count);
      copied = driver_.copy_in(device_ + offset, buffer, pass.block);
      return copied ? count : -EIO;
    });
    Status last = driver_.wait();
    if (!copied) return copied;
    return status ? last : status;
  }

  void open_gdrcopy(std::size_t room) {
    auto mapped = io::make_gdr_memory(device_, room);
    if (!mapped) {
      gdrcopy_missing_ = mapped.error().message;
      return;
    }
    mapped_ = std::move(mapped).value();
    auto engine = io::make_bar(*mapped_, 1);
    if (engine) {
      stores_ = std::move(engine).value();
    } else {
      gdrcopy_missing_ = engine.error().message;
    }
  }
  Way gdrcopy_way() {
    if (!stores_) return {.name = "gdrcopy", .missing = gdrcopy_missing_};
    return {.name = "gdrcopy", .run = [this](const Pass& pass) {
              return each_block(pass, "a read by the engine bar", [&](std::size_t offset) {
                const io::Transfer transfer{pass.descriptor, offset, device_ + offset,
                                            pass.block,      0,      io::Direction::read};
                io::Completion done;
                if (stores_->submit({&transfer, 1}) != 1 || stores_->poll({&done, 1}, 1) != 1) {
                  return std::int64_t{-EAGAIN};
                }
                return done.result;
              });
            }};
  }

  void open_cufile() {
    auto enter = io::cuda_context_setter();
    if (!enter) {
      cufile_missing_ = enter.error().message;
      return;
    }
    auto opened = io::GpuFileDriver::open({});
    if (!opened) {
      cufile_missing_ = opened.error().message;
      return;
    }
    cufile_ = std::move(opened).value();
  }
  Way cufile_way(io::Direction direction) {
    if (!cufile_) return {.name = "cufile", .flags = O_DIRECT, .missing = cufile_missing_};
    const auto run = [this, direction](const Pass& pass) -> Status {
      Status status = each_block(pass, "cuFile's transfer", [&](std::size_t offset) {
        return cufile_->transfer({.file = pass.descriptor,
                                  .offset = offset,
                                  .memory = device_ + offset,
                                  .bytes = pass.block,
                                  .direction = direction});
      });
      if (status || cufile_->refusal().empty()) return status;
      return Error{status.error().code, status.error().message + "; " + cufile_->refusal()};
    };
    return {.name = "cufile", .flags = O_DIRECT, .run = run, .closing = [this](int descriptor) {
              cufile_->closing(descriptor);
            }};
  }

  CudaDriver& driver_;
  std::byte* device_ = nullptr;
  bool registered_ = false;
  std::span<std::byte> pinned_[2];
  std::unique_ptr<std::byte, Free> pageable_;
  k2k_files* reader_ = nullptr;
  router::Files files_;  // For pwrite(), which the C interface leaves to kernels.
  std::unique_ptr<io::DeviceMemory> mapped_;  // By GDRCopy.
  std::unique_ptr<io::Engine> stores_;        // Into that mapping.
  std::string gdrcopy_missing_;
  std::shared_ptr<io::GpuFileDriver> cufile_;
  std::string cufile_missing_ = "not asked for (--cufile)";
  std::vector<Way> reads_;
  std::vector<Way> writes_;
};

}  // namespace

Result<std::unique_ptr<FileWays>> FileWays::create(CudaDriver& driver, std::size_t room,
                                                   std::size_t block_max, bool cufile) {
  auto ways = std::make_unique<Ways>(driver);
  if (Status status = ways->begin(room, block_max, cufile); !status) return status.error();
  return std::unique_ptr<FileWays>(std::move(ways));
}

}  // namespace k2k::bench
