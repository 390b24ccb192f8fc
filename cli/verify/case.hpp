#pragma once
// One comparison of a system call: its number, its arguments as data, and the parts of its outcome
// that may differ between two makers of the call. `k2k calls --verify` makes each call from a
// kernel and from a thread of the host, in two sandboxes that are alike (verify.hpp).
//
// Threading: values.

#include <sys/syscall.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <initializer_list>
#include <list>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

namespace k2k::cli::verify {

// The contents of each sandbox besides the tree of names (sandbox.cpp), by descriptor.
enum class Object : std::uint8_t {
  file,           // "file", for reading and writing, at offset 2.
  read_only,      // "file", for reading.
  other,          // "other", an empty file for reading and writing.
  directory,      // The root of the tree.
  pipe_in,        // The reading end of a pipe that holds "pipe".
  pipe_out,       // Its writing end.
  empty_pipe,     // The reading end of an empty pipe, O_NONBLOCK.
  stream,         // A stream socket that "stream" waits at, O_NONBLOCK.
  stream_peer,    // Its other end, O_NONBLOCK.
  datagram,       // A datagram socket that "datagram" waits at, O_NONBLOCK.
  datagram_peer,  // Its other end, O_NONBLOCK.
  unbound,        // A stream socket without a name.
  listener,       // Listens at "listener", with one connection to accept, O_NONBLOCK.
  event,          // An eventfd with the count 3.
  epoll,          // Waits for `event`, whose data is 77.
  timer,          // A timerfd that is not armed.
  notify,         // An inotify instance, O_NONBLOCK.
  memory,         // A memfd of one page.
  posix_queue,    // A POSIX message queue that holds "mail" with priority 3, O_NONBLOCK.
};
inline constexpr std::size_t object_count = 19;

// The objects of System V, by identifier.
enum class Ipc : std::uint8_t {
  queue,       // Holds the message "mail" of type 2.
  semaphores,  // Two: 1 and 0.
  segment,     // A page of 's'.
};
inline constexpr std::size_t ipc_count = 3;

struct Part;

// One argument of a call.
struct Argument {
  enum class Kind : std::uint8_t {
    number,   // A value as it stands.
    object,   // The number of a descriptor of the sandbox.
    ipc,      // The identifier of an object of System V.
    mapping,  // An address within the sandbox' mapping: `number` bytes behind its start.
    buffer,   // The address of `bytes`.
    rooted,   // The address of `bytes`, in which the sandbox' root stands for the byte `root_mark`.
    nowhere,  // The address of a page without access rights.
  };
  Kind kind = Kind::number;
  std::uint64_t number = 0;
  Object object = Object::file;
  Ipc ipc = Ipc::queue;
  std::string bytes = {};
  std::size_t size = 0;  // Of a rooted buffer once the root is in it; 0: as long as that is.
  // Pointers and descriptors within `bytes`.
  std::list<Part> parts = {};      // A list may be of a type that is not complete yet.
  bool gives_descriptors = false;  // The call writes an array of new descriptors.
};

inline bool is_buffer(const Argument& argument) {
  return argument.kind == Argument::Kind::buffer || argument.kind == Argument::Kind::rooted;
}

struct Part {
  std::size_t offset = 0;
  Argument target;
};

// The meaning of the answer of a call that succeeded.
enum class Answer : std::uint8_t {
  exact,
  descriptor,  // A new one: its kind and flags are compared.
  address,     // Of a new mapping: one page of it is read, and unmapped.
  varies,      // Any answer that is no error.
};

// Bytes of an output that differ from one call to the next: whether they were written is compared.
struct Ignored {
  std::size_t argument = 0;
  std::size_t from = 0;
  std::size_t bytes = 0;
};

struct Case {
  std::uint16_t number = 0;
  const char* says = "";
  std::vector<Argument> arguments = {};
  Answer answer = Answer::exact;
  std::vector<Ignored> ignored = {};
  // False: wrong pointers and descriptors in the place of these arguments are not tried. The answer
  // would depend on which of two errors Linux finds first.
  bool vary = true;
};

// Names of what a sandbox holds in the IPC namespace, and of what a call may make there: a sandbox
// removes both. They are this process' own, should the namespace be the machine's.
struct IpcNames {
  std::string queue;
  std::string new_queue;
  int new_key;
};
IpcNames ipc_names();

inline constexpr char root_mark = '\x02';
// Outputs hold this byte before the call.
inline constexpr char untouched = '\x5e';

template <class Number>
Argument number(Number value) {
  return {.number = static_cast<std::uint64_t>(static_cast<std::int64_t>(value))};
}
inline Argument null() { return number(0); }
inline Argument object(Object which) { return {.kind = Argument::Kind::object, .object = which}; }
inline Argument ipc(Ipc which) { return {.kind = Argument::Kind::ipc, .ipc = which}; }
inline Argument mapping(std::uint64_t offset = 0) {
  return {.kind = Argument::Kind::mapping, .number = offset};
}
inline Argument bytes(std::string content) {
  return {.kind = Argument::Kind::buffer, .bytes = std::move(content)};
}
// With its terminator.
inline Argument text(const std::string& content) { return bytes(content + '\0'); }
inline Argument space(std::size_t size) { return bytes(std::string(size, untouched)); }
// A name below the sandbox' root.
inline Argument path(const std::string& name) {
  return {.kind = Argument::Kind::rooted, .bytes = std::string{root_mark} + '/' + name + '\0'};
}
template <class Structure>
std::string bytes_of(const Structure& structure) {
  static_assert(std::is_trivially_copyable_v<Structure>);
  std::string content(sizeof(Structure), '\0');
  std::memcpy(content.data(), &structure, sizeof(Structure));
  return content;
}
// Not by operator+: g++ 12 takes a sum of temporary strings for an access out of bounds (its bug
// 105651) where it compiles a file alone.
inline std::string joined(std::initializer_list<std::string_view> parts) {
  std::string content;
  for (const std::string_view part : parts) content += part;
  return content;
}
template <class Structure>
Argument structure(const Structure& value) {
  return bytes(bytes_of(value));
}
inline Argument descriptors(std::size_t count) {
  Argument argument = space(count * sizeof(int));
  argument.gives_descriptors = true;
  return argument;
}
// The address of a Unix socket below the root; it is always unix_address_bytes long.
inline constexpr std::size_t unix_address_bytes = 110;
inline Argument unix_address(const std::string& name) {
  return {.kind = Argument::Kind::rooted,
          .bytes = std::string("\x01\0", 2) + root_mark + '/' + name,
          .size = unix_address_bytes};
}

// A vector of pieces: an iovec for each.
inline Argument vector_of(std::vector<Argument> pieces) {
  constexpr std::size_t stride = 16;
  Argument vector = bytes(std::string(pieces.size() * stride, '\0'));
  std::size_t at = 0;
  for (Argument& piece : pieces) {
    const std::uint64_t length = piece.bytes.size();
    std::memcpy(vector.bytes.data() + at + 8, &length, sizeof(length));
    vector.parts.push_back({at, std::move(piece)});
    at += stride;
  }
  return vector;
}
// An iovec of `length` bytes at `target`, which need not be that long.
inline Argument vector_at(Argument target, std::uint64_t length) {
  Argument vector = bytes(joined({std::string(8, '\0'), bytes_of(length)}));
  vector.parts.push_back({0, std::move(target)});
  return vector;
}

// The cases, a file a family (cases/).
std::vector<Case> file_cases();
std::vector<Case> directory_cases();
std::vector<Case> network_cases();
std::vector<Case> memory_cases();
std::vector<Case> process_cases();
std::vector<Case> scheduling_cases();
std::vector<Case> time_cases();
std::vector<Case> event_cases();
std::vector<Case> ipc_cases();
std::vector<Case> system_cases();

}  // namespace k2k::cli::verify
