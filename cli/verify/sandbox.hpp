#pragma once
// The objects of a compared call: a tree of names, a descriptor of every kind, objects of
// System V, a mapping. Two
// sandboxes differ only in the name of their root, which always has the same length.
//
// Threading: one thread. Errors: a sandbox that cannot be made throws std::system_error.

#include <sys/types.h>

#include <array>
#include <cstddef>
#include <string>
#include <utility>

#include "cli/verify/case.hpp"

namespace k2k::cli::verify {

inline constexpr std::size_t page_bytes = 4096;
inline constexpr std::size_t mapping_pages = 4;

// Objects that take Linux a millisecond, and that it may have been built without: which are made.
struct IpcKinds {
  bool queue = false;  // The POSIX queue.
  bool system_v = false;
};
// The errno with which Linux refuses to make an object of each kind; 0: it makes them.
struct IpcErrors {
  int queue = 0;
  int system_v = 0;
};
// Tries both; leaves nothing behind.
IpcErrors errors_of_ipc();

class Sandbox {
 public:
  explicit Sandbox(IpcKinds ipc = {});
  ~Sandbox();
  Sandbox(const Sandbox&) = delete;
  Sandbox& operator=(const Sandbox&) = delete;

  [[nodiscard]] const std::string& root() const { return root_; }
  [[nodiscard]] int descriptor(Object object) const {
    return descriptors_[static_cast<std::size_t>(object)];
  }
  [[nodiscard]] int identifier(Ipc ipc) const {
    return identifiers_[static_cast<std::size_t>(ipc)];
  }
  [[nodiscard]] char* mapping() const { return mapping_; }

  // The state that a call may have changed, as lines of text: names, contents, descriptors,
  // mapping.
  [[nodiscard]] std::string state() const;

  using Identity = std::pair<dev_t, ino_t>;

 private:
  void make();
  void make_tree() const;
  void open_files();
  void open_sockets();
  void open_others();
  void make_queue();
  void make_system_v();
  void remove_ipc() const;
  // Also of a sandbox that could not be made completely.
  void remove();
  [[nodiscard]] std::string state_of_ipc() const;
  void take(Object object, int descriptor);

  const IpcKinds ipc_;
  std::string root_;
  std::array<int, object_count> descriptors_;
  std::array<int, ipc_count> identifiers_;
  std::array<Identity, object_count> identities_;  // Of the files behind them.
  char* mapping_ = nullptr;
};

// "file /file O_RDWR", without the parts that differ between two sandboxes.
std::string described(int descriptor, const std::string& root);

// The page without access rights.
const void* nowhere();

}  // namespace k2k::cli::verify
