#include "services/opens/served_file.hpp"

#include <fmt/format.h>
#include <sys/syscall.h>

#include <array>
#include <cerrno>
#include <cstring>
#include <string_view>
#include <thread>
#include <utility>

#include "services/opens/copy_in.hpp"

namespace k2k::services {

namespace {

constexpr std::size_t path_most = 255;

// A place of the table. A thread that may use its file is counted in `inside`, from before it reads
// `file` until it no longer uses the file.
struct ServedPlace {
  std::atomic<ServedFile*> file{nullptr};
  std::atomic<std::uint32_t> inside{0};
};
constinit ServedPlace served_places[served_files_max];
constinit std::atomic<std::uint32_t> served{0};

// The argument that is the path; 0: no such call.
std::uint64_t path_address(std::uint16_t number,
                           const std::uint64_t (&word)[protocol::argument_count]) {
  switch (number) {
    case SYS_open:
      return word[0];
    case SYS_openat:
    case SYS_openat2:
      return word[1];
    default:
      return 0;
  }
}

// True if the memory at `address` has this text and a zero behind it.
bool is_text(std::uint64_t address, std::string_view text) {
  std::array<char, path_most + 1> there{};
  if (copy_in(address, there.data(), text.size() + 1) != 0) return false;
  return std::memcmp(there.data(), text.data(), text.size()) == 0 && there[text.size()] == 0;
}

}  // namespace

Result<std::unique_ptr<ServedFile>> ServedFile::create(std::string path,
                                                       std::function<void()> refresh) {
  if (!path.starts_with('/') || path.size() > path_most) {
    return Error{EINVAL, fmt::format("'{}' is no absolute path of at most {} bytes; set "
                                     "K2K_CONTROL_DIR to another folder",
                                     path, path_most)};
  }
  std::unique_ptr<ServedFile> file(new ServedFile(std::move(path), std::move(refresh)));
  for (std::size_t at = 0; at < served_files_max; ++at) {
    // A child of fork() may find threads counted that it does not have: it leaves such a place.
    if (served_places[at].inside.load() != 0) continue;
    ServedFile* nothing = nullptr;
    // Release: pairs with the load in refresh_served(), which reads the members.
    if (!served_places[at].file.compare_exchange_strong(nothing, file.get())) continue;
    file->place_ = at;
    served.fetch_add(1);
    return file;
  }
  return Error{ENOSPC, fmt::format("{} runtimes of this process serve a device file; end one, or "
                                   "set control.device_file = false",
                                   served_files_max)};
}

ServedFile::~ServedFile() {
  if (place_ == served_files_max) return;
  served.fetch_sub(1);
  // Sequentially consistent, as the two operations of refresh_served(): either that thread sees no
  // file any more, or this one sees that it is inside.
  served_places[place_].file.store(nullptr);
  while (served_places[place_].inside.load() != 0) std::this_thread::yield();
}

void refresh_served(std::uint16_t number, const std::uint64_t (&word)[protocol::argument_count]) {
  if (served.load(std::memory_order_relaxed) == 0) [[likely]]
    return;
  const std::uint64_t address = path_address(number, word);
  if (address == 0) return;
  for (ServedPlace& place : served_places) {
    place.inside.fetch_add(1);
    ServedFile* const file = place.file.load();
    if (file != nullptr && is_text(address, file->path_)) file->refresh_();
    place.inside.fetch_sub(1);
  }
}

}  // namespace k2k::services
