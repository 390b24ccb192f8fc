#pragma once
// The socket that reports and controls a process, and the one thread that answers there.
//
//   PID, PID-2, …      in the user's folder (folder.hpp): one name per listener
//
//   asleep in poll ──▶ accept: same user or root? ──▶ a line within 2 s ──▶ answer ──▶ next line
//                      no: closed                      stalls: closed (clients.hpp)
//
// The thread, "k2k/control", sleeps without a timer while no request comes. It is not a service
// thread: its CPU time is in cpu_seconds() and neither under the cap nor in the ledger. A stalling
// client occupies one of the `clients_max` places for two seconds and delays no other client; a
// process with many connections loses its oldest one to a new client.
//
// After fork(), the child closes the socket at once (inherited.hpp): it answers no request. Its
// copy of this object must be abandoned.
//
// Threading: members from anywhere; `answer` is called by the listener's thread.

#include <atomic>
#include <ctime>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <thread>

#include "base/result.hpp"
#include "control/clients.hpp"
#include "control/folder.hpp"

namespace k2k::control {

inline constexpr std::size_t clients_max = 16;
inline constexpr std::uint32_t listeners_max = 1024;  // Per process.

// Maps a request line without its newline to an answer line with one.
using Answer = std::function<std::string(std::string_view line)>;

class Listener {
 public:
  // Removes sockets of dead processes, then listens: clients wait for start().
  // Errors: as socket(2), bind(2), listen(2); EADDRINUSE, all names of this process are taken.
  static Result<std::unique_ptr<Listener>> open(Folder folder, Answer answer);
  // Call it once. Errors: EAGAIN, no thread could be started.
  Status start();
  // Ends the thread and removes the socket. Waits for an answer in progress.
  ~Listener();
  Listener(const Listener&) = delete;
  Listener& operator=(const Listener&) = delete;

  [[nodiscard]] std::string path() const { return folder_.path + "/" + name_; }
  // The number among this process's listeners; 1 is the first.
  [[nodiscard]] std::uint32_t number() const { return number_; }
  [[nodiscard]] double cpu_seconds() const;

 private:
  Listener(Folder folder, Answer answer);
  Status listen();
  Status bind_free_name();
  void end_without_descriptors();
  void serve();

  Folder folder_;
  const Answer answer_;
  std::string name_;  // "" until bound.
  std::uint32_t number_ = 0;
  Descriptor socket_;
  Descriptor end_;                   // An eventfd.
  std::atomic<bool> ending_{false};  // The same signal as end_.
  std::unique_ptr<Clients> clients_;
  static constexpr clockid_t no_clock = CLOCK_REALTIME;  // Not a thread's clock: CPU clocks have
                                                         // other numbers.
  std::atomic<clockid_t> clock_{no_clock};               // The thread's, once it runs.
  std::thread thread_;
};

}  // namespace k2k::control
