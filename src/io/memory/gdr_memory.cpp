#include "io/memory/gdr_memory.hpp"

#include <dlfcn.h>
#include <fmt/format.h>

#include <cerrno>
#include <cstdint>
#include <cstring>
#include <type_traits>
#include <utility>

namespace k2k::io {

namespace gdr {
namespace {

constexpr std::uintptr_t gpu_page_bytes = 64 * 1024;

struct Library;  // gdr_t
struct Handle {
  unsigned long number = 0;
};
struct Info {
  std::uint64_t address = 0;  // Of the first pinned page, on the GPU.
  std::uint64_t mapped_bytes = 0;
  std::uint32_t page_bytes = 0;
  std::uint64_t cycles = 0;
  std::uint32_t cycles_per_ms = 0;
  unsigned mapped : 1 = 0;
  unsigned write_combined : 1 = 0;
  int mapping_type = 0;
};

struct Calls {
  Library* (*open)() = nullptr;
  int (*close)(Library*) = nullptr;
  int (*pin)(Library*, unsigned long, std::size_t, std::uint64_t, std::uint32_t, Handle*) = nullptr;
  int (*unpin)(Library*, Handle) = nullptr;
  int (*info)(Library*, Handle, Info*) = nullptr;
  int (*map)(Library*, Handle, void**, std::size_t) = nullptr;
  int (*unmap)(Library*, Handle, void*, std::size_t) = nullptr;

  static Result<Calls> load(const std::string& library) {
    void* const handle = ::dlopen(library.c_str(), RTLD_NOW | RTLD_LOCAL);
    if (handle == nullptr) {
      return Error{ENOENT, fmt::format("GDRCopy: {} cannot be loaded ({}); install NVIDIA's "
                                       "libgdrapi and its module gdrdrv, or take staging",
                                       library, ::dlerror())};
    }
    Calls calls;
    const char* missing = nullptr;
    const auto find = [&](auto& member, const char* name) {
      member = reinterpret_cast<std::remove_reference_t<decltype(member)>>(::dlsym(handle, name));
      if (member == nullptr) missing = name;
    };
    find(calls.open, "gdr_open");
    find(calls.close, "gdr_close");
    find(calls.pin, "gdr_pin_buffer");
    find(calls.unpin, "gdr_unpin_buffer");
    find(calls.info, "gdr_get_info_v2");
    find(calls.map, "gdr_map");
    find(calls.unmap, "gdr_unmap");
    if (missing == nullptr) return calls;
    return Error{ENOSYS,
                 fmt::format("GDRCopy: {} has no {}; install 2.0 or newer", library, missing)};
  }
};

class GdrMemory final : public DeviceMemory {
 public:
  GdrMemory(const Calls& calls, std::byte* device, std::size_t bytes)
      : calls_(calls), device_(device), bytes_(bytes) {}
  ~GdrMemory() override {
    if (mapped_ != nullptr) calls_.unmap(library_, handle_, mapped_, pinned_bytes_);
    if (pinned_) calls_.unpin(library_, handle_);
    if (library_ != nullptr) calls_.close(library_);
  }

  Status build() {
    library_ = calls_.open();
    if (library_ == nullptr) {
      return Error{ENODEV,
                   "GDRCopy does not start: its kernel module is not loaded, or its device "
                   "is closed to this user; modprobe gdrdrv, see /dev/gdrdrv"};
    }
    const auto first = reinterpret_cast<std::uintptr_t>(device_) & ~(gpu_page_bytes - 1);
    const std::uintptr_t end = reinterpret_cast<std::uintptr_t>(device_) + bytes_;
    pinned_bytes_ = (end - first + gpu_page_bytes - 1) & ~(gpu_page_bytes - 1);
    if (const int code = calls_.pin(library_, first, pinned_bytes_, 0, 0, &handle_); code != 0) {
      return refused("pin", code);
    }
    pinned_ = true;
    Info info;
    if (const int code = calls_.info(library_, handle_, &info); code != 0) {
      return refused("describe", code);
    }
    if (const int code = calls_.map(library_, handle_, &mapped_, pinned_bytes_); code != 0) {
      mapped_ = nullptr;
      return refused("map", code);
    }
    start_ = static_cast<std::byte*>(mapped_) +
             (reinterpret_cast<std::uintptr_t>(device_) - info.address);
    return {};
  }

  [[nodiscard]] const char* name() const override { return "gdrcopy"; }
  // Linux' copy guarantees nothing about write-combined memory.
  [[nodiscard]] bool kernel_reaches() const override { return false; }
  Result<std::unique_ptr<CopyQueue>> make_queue(std::uint32_t /*buffers*/,
                                                std::size_t /*buffer_bytes*/) override {
    return Error{EOPNOTSUPP, "GDRCopy's mapping has no copies by the device; take CUDA's memory"};
  }
  [[nodiscard]] Status can_map() const override { return {}; }
  Result<std::byte*> map(std::byte* address, std::size_t bytes) override {
    if (address < device_ || bytes > bytes_ ||
        static_cast<std::size_t>(address - device_) > bytes_ - bytes) {
      return Error{EFAULT, "GDRCopy's mapping does not hold this range"};
    }
    return start_ + (address - device_);
  }

 private:
  [[nodiscard]] Error refused(const char* what, int code) const {
    const char* const remedy = code == ENOMEM ? "; the GPU's BAR may be too small: map less" : "";
    return {code, fmt::format("GDRCopy cannot {} {} bytes at {}: {}{}", what, bytes_,
                              static_cast<const void*>(device_), std::strerror(code), remedy)};
  }

  Calls calls_;
  std::byte* device_;
  std::size_t bytes_;
  Library* library_ = nullptr;
  Handle handle_{};
  bool pinned_ = false;
  std::size_t pinned_bytes_ = 0;
  void* mapped_ = nullptr;
  std::byte* start_ = nullptr;  // Of the range, in the mapping.
};

}  // namespace
}  // namespace gdr

Result<std::unique_ptr<DeviceMemory>> make_gdr_memory(std::byte* device, std::size_t bytes,
                                                      const std::string& library) {
  if (bytes == 0) return Error{EINVAL, "GDRCopy maps no range of 0 bytes; give at least 1"};
  Result<gdr::Calls> calls = gdr::Calls::load(library);
  if (!calls) return calls.error();
  auto memory = std::make_unique<gdr::GdrMemory>(calls.value(), device, bytes);
  if (Status status = memory->build(); !status) return status.error();
  return std::unique_ptr<DeviceMemory>(std::move(memory));
}

}  // namespace k2k::io
