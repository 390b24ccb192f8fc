#include "control/listener.hpp"

#include <fmt/format.h>
#include <pthread.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <system_error>

#include "base/own_process.hpp"
#include "base/signals_blocked.hpp"
#include "control/clients.hpp"
#include "control/inherited.hpp"
#include "control/message.hpp"
#include "control/socket.hpp"

namespace k2k::control {

namespace {

Clients::Admission admit(const Descriptor& socket) {
  const std::optional<Peer> peer = peer_of(socket);
  if (peer && (peer->user == 0 || peer->user == ::geteuid())) return {peer->process, {}};
  return {0, failure_line({EPERM,
                           "control: this process belongs to another user; only its owner and "
                           "root may ask"})};
}

}  // namespace

Listener::Listener(Folder folder, Answer answer)
    : folder_(std::move(folder)), answer_(std::move(answer)) {}

Result<std::unique_ptr<Listener>> Listener::open(Folder folder, Answer answer) {
  std::unique_ptr<Listener> made(new Listener(std::move(folder), std::move(answer)));
  if (Status status = made->listen(); !status) return status.error();
  return made;
}

Status Listener::listen() {
  end_ = Descriptor(::eventfd(0, EFD_CLOEXEC));
  if (!end_.open()) {
    return Error{errno, fmt::format("control: no eventfd: {}; raise the limit on open files: "
                                    "ulimit -n",
                                    std::strerror(errno))};
  }
  sweep(folder_);
  if (Status status = bind_free_name(); !status) return status;
  close_in_child(socket_.number());
  close_in_child(end_.number());
  return {};
}

Status Listener::bind_free_name() {
  SocketName name{::getpid(), 1};
  for (; name.number <= listeners_max; ++name.number) {
    const std::string text = text_of(name);
    socket_ = listen_at(folder_, text);
    int code = errno;
    // A socket left by a process with our number, or by this process before an exec(2).
    if (!socket_.open() && code == EADDRINUSE && !connect_to(folder_, text).open() &&
        errno == ECONNREFUSED) {
      ::unlinkat(folder_.descriptor.number(), text.c_str(), 0);
      socket_ = listen_at(folder_, text);
      code = errno;
    }
    if (socket_.open()) {
      name_ = text;
      number_ = name.number;
      return {};
    }
    if (code != EADDRINUSE) {
      return Error{code, fmt::format("control: no socket in {}: {}; make room there, or set "
                                     "control.socket = false",
                                     folder_.path, std::strerror(code))};
    }
  }
  return Error{EADDRINUSE, fmt::format("control: all {} names of process {} in {} are taken",
                                       listeners_max, name.process, folder_.path)};
}

Status Listener::start() {
  clients_ = std::make_unique<Clients>(Clients::Rules{
      .places = clients_max,
      .request_bytes_max = request_bytes_max,
      .end = "\n",
      .one_request = false,
      .admit = admit,
      .answer = answer_,
      .crowded_out =
          failure_line({EBUSY, fmt::format("control: {} clients at once are served, and newer ones "
                                           "came; try again",
                                           clients_max)})});
  const SignalsBlocked guard;
  try {
    thread_ = std::thread([this] { serve(); });
  } catch (const std::system_error& failure) {
    return Error{EAGAIN, fmt::format("control: no thread could be started ({}); raise the limit "
                                     "on processes: ulimit -u",
                                     failure.what())};
  }
  return {};
}

Listener::~Listener() {
  ending_.store(true);
  const std::uint64_t one = 1;
  const bool told = ::write(end_.number(), &one, sizeof(one)) == sizeof(one);
  if (!name_.empty() && !told) end_without_descriptors();
  if (!name_.empty()) ::unlinkat(folder_.descriptor.number(), name_.c_str(), 0);
  if (thread_.joinable()) thread_.join();
  if (socket_.open()) keep_in_child(socket_.number());
  if (end_.open()) keep_in_child(end_.number());
}

// The program closed them. A thread that sleeps still holds its socket: a guest wakes it.
void Listener::end_without_descriptors() {
  const Result<Folder> folder = own_folder();
  if (!folder) return;
  const Descriptor guest = connect_to(folder.value(), name_);
  ::unlinkat(folder.value().descriptor.number(), name_.c_str(), 0);
}

double Listener::cpu_seconds() const {
  const clockid_t clock = clock_.load();
  timespec time{};
  if (clock == no_clock || ::clock_gettime(clock, &time) != 0) return 0;
  return static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_nsec) / 1e9;
}

void Listener::serve() {
  const OwnThread own;
  pthread_setname_np(pthread_self(), "k2k/control");
  clockid_t clock = no_clock;
  if (pthread_getcpuclockid(pthread_self(), &clock) == 0) clock_.store(clock);
  clients_->serve(socket_, end_, ending_);
}

}  // namespace k2k::control
