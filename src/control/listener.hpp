#pragma once
// The socket by which a process is seen and steered, and the one thread that answers there.
//
//   PID, PID-2, …      in the user's folder (folder.hpp): a name a listener
//
//   asleep in poll ──▶ accept: same user or root? ──▶ a line within 2 s ──▶ answer ──▶ next line
//                      no: closed                      stalls: closed (clients.hpp)
//
// The thread, "k2k/control", sleeps without a timer while nobody asks. It is no service thread: its
// CPU time is in cpu_seconds() and neither under the cap nor in the ledger. A client that stalls
// keeps its place among `clients_max` for two seconds and nothing else; a process that opens many
// loses its oldest to whoever comes.
//
// After fork() the child lets go of the socket at once (inherited.hpp): it answers for nobody. Its
// copy of this object is only good for being forgotten.
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
inline constexpr std::uint32_t listeners_max = 1024;  // Of one process.

// A request's line without its newline becomes a line with one.
using Answer = std::function<std::string(std::string_view line)>;

class Listener {
 public:
  // Sweeps what dead processes left, then listens: who asks waits for start().
  // Errors: those of socket(2), bind(2), listen(2); EADDRINUSE, all names of this process are
  // taken.
  static Result<std::unique_ptr<Listener>> open(Folder folder, Answer answer);
  // Once. Errors: EAGAIN, no thread could be started.
  Status start();
  // Ends the thread and removes the socket. An answer that is being made is waited for.
  ~Listener();
  Listener(const Listener&) = delete;
  Listener& operator=(const Listener&) = delete;

  [[nodiscard]] std::string path() const { return folder_.path + "/" + name_; }
  // Which of this process's listeners it is; 1 is the first.
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
  std::atomic<bool> ending_{false};  // Said by it as well.
  std::unique_ptr<Clients> clients_;
  static constexpr clockid_t no_clock = CLOCK_REALTIME;  // CPU clocks have other numbers.
  std::atomic<clockid_t> clock_{no_clock};               // The thread's, once it runs.
  std::thread thread_;
};

}  // namespace k2k::control
