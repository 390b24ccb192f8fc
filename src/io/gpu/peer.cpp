#include "io/gpu/peer.hpp"

#include <fmt/format.h>
#include <sys/mman.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <limits>
#include <system_error>
#include <utility>

#include "io/file/page_range.hpp"
#include "io/file/raw.hpp"

namespace k2k::io {

namespace {

constexpr std::size_t devices_max = 65536;  // Looked at.
std::string folder_of_devices(const std::string& sys) { return sys + "/bus/pci/devices"; }

std::uint64_t number_in(const std::filesystem::path& path) {
  std::ifstream file(path);
  std::uint64_t number = 0;
  return file >> number ? number : 0;
}

// The address becomes part of a path.
bool is_address(const std::string& text) {
  return !text.empty() && text.find("..") == std::string::npos &&
         text.find_first_not_of("0123456789abcdefABCDEF:.") == std::string::npos;
}

Error failed(const std::string& address, int code, const std::string& mend) {
  return Error{code, fmt::format("peer memory of {}: {}; {}", address, std::strerror(code), mend)};
}

Error not_opened(const std::string& address, int code) {
  switch (code) {
    case ENOENT:
    case ENOTDIR:
      return failed(
          address, ENOENT,
          "it needs Linux 6.2 with CONFIG_PCI_P2PDMA and a device that offers some, such as "
          "an NVMe controller with a memory buffer: ls /sys/bus/pci/devices/*/p2pmem");
    case EACCES:
    case EPERM:
      return failed(address, EACCES,
                    fmt::format("let this user write "
                                "/sys/bus/pci/devices/{}/p2pmem/allocate: chmod or chown it",
                                address));
    default:
      return failed(address, code, "its p2pmem/allocate cannot be opened");
  }
}

Error not_mapped(const std::string& address, int code, std::size_t bytes, std::uint64_t available) {
  if (code == ENOMEM) {
    return failed(address, code,
                  fmt::format("{} bytes were asked for, {} are available", bytes, available));
  }
  if (code == EINVAL) {
    return failed(address, code, "its driver or this processor does not let it be mapped");
  }
  return failed(address, code, "it cannot be mapped");
}

}  // namespace

std::vector<PeerDevice> peer_devices(const std::string& sys) {
  std::vector<PeerDevice> devices;
  std::error_code none;
  std::filesystem::directory_iterator entry(folder_of_devices(sys), none);
  std::size_t looked_at = 0;
  for (; !none && entry != std::filesystem::directory_iterator() && looked_at < devices_max;
       entry.increment(none), ++looked_at) {
    const std::filesystem::path folder = entry->path() / "p2pmem";
    std::error_code ignored;
    if (!std::filesystem::is_directory(folder, ignored)) continue;
    devices.push_back({entry->path().filename(), number_in(folder / "size"),
                       number_in(folder / "available"), number_in(folder / "published") != 0});
  }
  std::ranges::sort(devices, {}, &PeerDevice::address);
  return devices;
}

Result<PeerMemory> PeerMemory::allocate(const std::string& address, std::size_t bytes,
                                        const std::string& sys) {
  if (!is_address(address)) {
    return failed(address, EINVAL, "give a PCI address such as 0000:03:00.0");
  }
  if (bytes == 0 || bytes > std::numeric_limits<std::size_t>::max() - page_bytes) {
    return failed(address, EINVAL, fmt::format("{} bytes were asked for", bytes));
  }
  const std::string folder = folder_of_devices(sys) + "/" + address + "/p2pmem";
  const std::int64_t file =
      raw(SYS_openat, AT_FDCWD, (folder + "/allocate").c_str(), O_RDWR | O_CLOEXEC, 0);
  if (file < 0) return not_opened(address, static_cast<int>(-file));
  const auto whole = (bytes + page_bytes - 1) / page_bytes * page_bytes;
  // Each mapping is an allocation of its own. MAP_PRIVATE is refused: EINVAL.
  void* const memory =
      ::mmap(nullptr, whole, PROT_READ | PROT_WRITE, MAP_SHARED, static_cast<int>(file), 0);
  const int code = errno;
  raw_close(static_cast<int>(file));
  if (memory == MAP_FAILED) {
    return not_mapped(address, code, whole, number_in(folder + "/available"));
  }
  return PeerMemory({static_cast<std::byte*>(memory), whole});
}

PeerMemory::PeerMemory(PeerMemory&& other) noexcept : bytes_(std::exchange(other.bytes_, {})) {}

PeerMemory& PeerMemory::operator=(PeerMemory&& other) noexcept {
  std::swap(bytes_, other.bytes_);
  return *this;
}

PeerMemory::~PeerMemory() {
  if (!bytes_.empty()) ::munmap(bytes_.data(), bytes_.size());
}

std::string why_peer_refused(int code) {
  const char* why = "it is no error of peer memory's own; see the transfer's file";
  if (code == EREMOTEIO) {
    why =
        "the file's device cannot reach it: device mapper, loop, or md before Linux 7.2; put the "
        "file on a plain NVMe partition";
  }
  if (code == EINVAL) {
    why =
        "the transfer is misaligned, the file system has no direct transfers, or Linux trusts no "
        "way between the two devices; align it to 4096, put both below one PCIe switch, or copy "
        "it through the page cache";
  }
  if (code == EFAULT) {
    why =
        "only plain reads and writes take it, no registered buffers of io_uring and no "
        "process_vm_readv; use plain ones";
  }
  return fmt::format("direct transfer with peer memory: {}; {}", std::strerror(code), why);
}

}  // namespace k2k::io
