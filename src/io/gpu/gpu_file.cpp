#include "io/gpu/gpu_file.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <mutex>
#include <utility>
#include <vector>

#include "io/engine/blocking.hpp"
#include "io/engine/pool.hpp"
#include "io/gpu/gpu_file_calls.hpp"
#include "io/memory/cuda_calls.hpp"

namespace k2k::io {

namespace {

using gpu_file::Answer;
using gpu_file::Calls;

// The limit of registered files; larger than the number of threads, so that one of them is always
// idle.
constexpr std::size_t files_max = 256;
constexpr std::size_t ranges_max = 256;

// The open file behind a number: a later file with the same number is different.
struct Identity {
  int descriptor = -1;
  dev_t device = 0;
  ino_t inode = 0;
  int flags = 0;

  bool operator==(const Identity&) const = default;
};

struct Registered {
  Identity identity;
  gpu_file::Handle handle = nullptr;
  std::uint32_t users = 0;
  std::uint64_t used = 0;  // When last, in uses.
};

struct Range {
  std::byte* base = nullptr;
  std::size_t bytes = 0;

  [[nodiscard]] bool holds(const std::byte* memory, std::size_t size) const {
    return memory >= base && memory + size <= base + bytes;
  }
};

class Driver final : public GpuFileDriver {
 public:
  Driver(GpuFileKind kind, const Calls& calls, std::string note)
      : kind_(kind), calls_(calls), note_(std::move(note)), creator_(::getpid()) {}

  ~Driver() override {
    if (creator_ != ::getpid()) return;  // The library is the parent's.
    for (const Registered& file : files_) calls_.forget_file(file.handle);
    for (const Range& range : ranges_) static_cast<void>(calls_.forget_memory(range.base));
    static_cast<void>(calls_.close());
  }

  Status register_memory(std::byte* base, std::size_t bytes) override {
    const std::lock_guard lock(mutex_);
    if (ranges_.size() == ranges_max) {
      return Error{ENOSPC, fmt::format("{}: {} ranges are registered; give one back",
                                       gpu_file::name_of(kind_), ranges_max)};
    }
    if (const Answer answer = calls_.register_memory(base, bytes, 0); answer.code != 0) {
      return failed(answer);
    }
    ranges_.push_back({base, bytes});
    return {};
  }

  Status unregister_memory(std::byte* base) override {
    const std::lock_guard lock(mutex_);
    const auto found = std::ranges::find(ranges_, base, &Range::base);
    if (found == ranges_.end()) return failed({gpu_file::memory_not_registered, 0});
    ranges_.erase(found);
    if (const Answer answer = calls_.forget_memory(base); answer.code != 0) return failed(answer);
    return {};
  }

  std::int64_t transfer(const Transfer& transfer) override {
    if (!offset_fits(transfer)) return -EINVAL;
    Identity identity;
    if (const int code = identify(transfer.file, identity); code != 0) return -code;
    const std::size_t bytes = std::min(transfer.bytes, transfer_bytes_max);
    gpu_file::Handle handle = nullptr;
    Range range{transfer.memory, bytes};
    if (const int code = take(identity, handle, range); code != 0) return -code;
    const std::int64_t moved = call(transfer, handle, range, bytes);
    give_back(handle);
    return moved;
  }

  void closing(int descriptor) override {
    const std::lock_guard lock(mutex_);
    std::erase_if(files_, [&](const Registered& file) {
      if (file.identity.descriptor != descriptor || file.users > 0) return false;
      calls_.forget_file(file.handle);
      return true;
    });
  }

  [[nodiscard]] const char* name() const override { return engine_name_of(kind_); }
  [[nodiscard]] std::string note() const override { return note_; }
  [[nodiscard]] std::string refusal() const override {
    const std::lock_guard lock(mutex_);
    return refusal_;
  }

 private:
  [[nodiscard]] Error failed(const Answer& answer) const {
    return {gpu_file::errno_of(answer.code), gpu_file::why(kind_, answer)};
  }

  static int identify(int descriptor, Identity& identity) {
    struct stat facts{};
    const std::int64_t flags = raw(SYS_fcntl, descriptor, F_GETFL, 0);
    if (flags < 0 || ::fstat(descriptor, &facts) != 0) return EBADF;
    identity = {descriptor, facts.st_dev, facts.st_ino, static_cast<int>(flags)};
    return 0;
  }

  // The file's handle, registered if it is not, and the range that the memory lies in.
  int take(const Identity& identity, gpu_file::Handle& handle, Range& range) {
    const std::lock_guard lock(mutex_);
    for (const Range& each : ranges_) {
      if (each.holds(range.base, range.bytes)) range = each;
    }
    auto found = std::ranges::find(files_, identity, &Registered::identity);
    if (found == files_.end()) {
      make_room(identity.descriptor);
      Registered file{identity, nullptr, 0, 0};
      gpu_file::Description description{};
      description.descriptor = identity.descriptor;
      const Answer answer = calls_.register_file(&file.handle, &description);
      if (answer.code != 0) {
        refusal_ = gpu_file::why_not_registered(kind_, answer);
        return gpu_file::errno_of_registration(answer.code);
      }
      files_.push_back(file);
      found = files_.end() - 1;
    }
    ++found->users;
    found->used = ++uses_;
    handle = found->handle;
    return 0;
  }

  // The number means another file now, or too many are registered.
  void make_room(int descriptor) {
    const auto forget = [&](std::vector<Registered>::iterator file) {
      calls_.forget_file(file->handle);
      files_.erase(file);
    };
    const auto stale = std::ranges::find_if(files_, [&](const Registered& file) {
      return file.identity.descriptor == descriptor && file.users == 0;
    });
    if (stale != files_.end()) forget(stale);
    if (files_.size() < files_max) return;
    const auto idle = std::ranges::min_element(
        files_, {}, [](const Registered& file) { return std::pair(file.users > 0, file.used); });
    if (idle->users == 0) forget(idle);
  }

  void give_back(gpu_file::Handle handle) {
    const std::lock_guard lock(mutex_);
    const auto found = std::ranges::find(files_, handle, &Registered::handle);
    K2K_EXPECT(found != files_.end());
    --found->users;
  }

  std::int64_t call(const Transfer& transfer, gpu_file::Handle handle, const Range& range,
                    std::size_t bytes) {
    const auto offset = static_cast<off_t>(transfer.offset);
    const off_t within = transfer.memory - range.base;
    while (true) {
      errno = 0;
      const ssize_t moved = transfer.direction == Direction::read
                                ? calls_.read(handle, range.base, bytes, offset, within)
                                : calls_.write(handle, range.base, bytes, offset, within);
      if (moved >= 0) return moved;
      if (moved < -1) return -gpu_file::errno_of(static_cast<int>(-moved));
      // Some versions leave their own code in errno.
      const int code = errno >= gpu_file::not_initialized ? gpu_file::errno_of(errno) : errno;
      if (code != EINTR) return code == 0 ? -EIO : -code;
    }
  }

  const GpuFileKind kind_;
  const Calls calls_;
  const std::string note_;
  const pid_t creator_;
  mutable std::mutex mutex_;  // Guards the registrations and the refusal. Held while registering.
  std::vector<Registered> files_;
  std::vector<Range> ranges_;
  std::uint64_t uses_ = 0;
  std::string refusal_;
};

}  // namespace

std::string note_of(const GpuFileConfig& config) {
  if (config.kind != GpuFileKind::cufile) return {};
  if (::access((config.proc + "/driver/nvidia-fs/devcount").c_str(), F_OK) == 0) return {};
  return "nvidia-fs is not loaded: unless this Linux and driver do peer-to-peer by themselves, "
         "cuFile copies through host memory (compatibility mode); modprobe nvidia-fs";
}

const char* engine_name_of(GpuFileKind kind) {
  return kind == GpuFileKind::cufile ? "cufile" : "hipfile";
}

Result<std::shared_ptr<GpuFileDriver>> GpuFileDriver::open(const GpuFileConfig& config) {
  const std::string library = config.library.empty()
                                  ? fmt::format("lib{}.so.0", engine_name_of(config.kind))
                                  : config.library;
  const Result<Calls> calls = Calls::load(config.kind, library);
  if (!calls) return calls.error();
  if (config.kind == GpuFileKind::cufile) {
    const Result<cuda::Calls> cuda = cuda::Calls::load(config.cuda_library);
    if (!cuda) return Error{ENODEV, "cuFile is not opened: " + cuda.error().message};
    const std::string modules = config.proc + "/modules";
    if (::access(modules.c_str(), R_OK) != 0) {
      return Error{ENODEV, fmt::format("cuFile is not opened: it would wait for ever without {}; "
                                       "take staging",
                                       modules)};
    }
  }
  const Answer answer = calls.value().open();
  if (answer.code != 0 && answer.code != gpu_file::already_open) {
    return Error{gpu_file::errno_of(answer.code), gpu_file::why(config.kind, answer)};
  }
  return std::shared_ptr<GpuFileDriver>(
      std::make_shared<Driver>(config.kind, calls.value(), note_of(config)));
}

Result<std::unique_ptr<Engine>> make_gpu_file(std::shared_ptr<GpuFileDriver> driver,
                                              std::uint32_t outstanding, std::uint32_t threads,
                                              std::function<void()> enter_thread) {
  const Capabilities capabilities{driver->name(), true, outstanding, true, 1};
  return make_threads(
      capabilities, threads,
      [driver = std::move(driver)](const Transfer& each) { return driver->transfer(each); },
      std::move(enter_thread));
}

}  // namespace k2k::io
