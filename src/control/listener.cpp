#include "control/listener.hpp"

#include <fmt/format.h>
#include <poll.h>
#include <pthread.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <system_error>
#include <vector>

#include "base/clock.hpp"
#include "base/signals_blocked.hpp"
#include "control/inherited.hpp"
#include "control/message.hpp"
#include "control/socket.hpp"

namespace k2k::control {

// One connection. Reads a line, then writes its answer, and so on.
class Listener::Client {
 public:
  Client(host::Descriptor socket, Instant moment)
      : socket_(std::move(socket)), until_(moment + patience) {
    close_in_child(socket_.number());
  }
  ~Client() {
    if (socket_.open()) keep_in_child(socket_.number());
  }
  Client(Client&&) noexcept = default;
  Client& operator=(Client&&) noexcept = default;

  [[nodiscard]] pollfd waits_for() const {
    return {socket_.number(), static_cast<short>(out_.empty() ? POLLIN : POLLOUT), 0};
  }
  [[nodiscard]] Instant until() const { return until_; }

  // False: it is to be closed.
  bool go_on(const Answer& answer) { return out_.empty() ? read_some(answer) : write_some(); }

 private:
  bool read_some(const Answer& answer) {
    char piece[4096];
    const ssize_t count = ::recv(socket_.number(), piece, sizeof(piece), MSG_DONTWAIT);
    if (count < 0) return errno == EAGAIN || errno == EINTR;
    if (count == 0) return false;
    in_.append(piece, static_cast<std::size_t>(count));
    const std::size_t end = in_.find('\n');
    if (end == std::string::npos && in_.size() <= request_bytes_max) return true;
    // What is too long is answered too, then the end of its line would be guessed at.
    out_ = answer(std::string_view(in_).substr(0, end));
    last_ = end == std::string::npos || end > request_bytes_max;
    in_.erase(0, end == std::string::npos ? end : end + 1);
    if (!in_.empty()) last_ = true;  // One at a time: the next line comes behind the answer.
    until_ = now() + patience;
    return write_some();
  }

  bool write_some() {
    const ssize_t count =
        ::send(socket_.number(), out_.data(), out_.size(), MSG_DONTWAIT | MSG_NOSIGNAL);
    if (count < 0) return errno == EAGAIN || errno == EINTR;
    out_.erase(0, static_cast<std::size_t>(count));
    if (!out_.empty()) return true;
    until_ = now() + patience;
    return !last_;
  }

  host::Descriptor socket_;
  Instant until_;
  std::string in_;
  std::string out_;
  bool last_ = false;
};

namespace {

constexpr int retry_ms = 100;

// Until the first of them runs out, rounded up; -1 = for ever.
template <class Clients>
int timeout_ms(const Clients& clients, Instant moment) {
  if (clients.empty()) return -1;
  Instant first = clients.front().until();
  for (const auto& client : clients) first = std::min(first, client.until());
  const auto left = std::chrono::ceil<std::chrono::milliseconds>(first - moment);
  return static_cast<int>(std::max<std::int64_t>(left.count(), 0));
}

void refuse(const host::Descriptor& socket, const Error& why) {
  const std::string line = failure_line(why);
  // What does not fit is lost: it closes either way.
  static_cast<void>(::send(socket.number(), line.data(), line.size(), MSG_DONTWAIT | MSG_NOSIGNAL));
}

bool may_ask(const host::Descriptor& socket) {
  const std::optional<Peer> peer = peer_of(socket);
  return peer && (peer->user == 0 || peer->user == ::geteuid());
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
  end_ = host::Descriptor(::eventfd(0, EFD_CLOEXEC));
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
    // Left by a process that had our number, or by ourselves before an exec(2).
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
  if (!name_.empty()) ::unlinkat(folder_.descriptor.number(), name_.c_str(), 0);
  if (thread_.joinable()) {
    const std::uint64_t one = 1;
    K2K_EXPECT(::write(end_.number(), &one, sizeof(one)) == sizeof(one));
    thread_.join();
  }
  if (socket_.open()) keep_in_child(socket_.number());
  if (end_.open()) keep_in_child(end_.number());
}

double Listener::cpu_seconds() const {
  const clockid_t clock = clock_.load();
  timespec time{};
  if (clock == no_clock || ::clock_gettime(clock, &time) != 0) return 0;
  return static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_nsec) / 1e9;
}

void Listener::serve() {
  pthread_setname_np(pthread_self(), "k2k/control");
  clockid_t clock = no_clock;
  if (pthread_getcpuclockid(pthread_self(), &clock) == 0) clock_.store(clock);
  std::vector<Client> clients;
  std::vector<pollfd> waits;
  while (true) {
    waits = {{end_.number(), POLLIN, 0}, {socket_.number(), POLLIN, 0}};
    for (const Client& client : clients) waits.push_back(client.waits_for());
    if (::poll(waits.data(), waits.size(), timeout_ms(clients, now())) < 0) continue;
    if (waits[0].revents != 0) return;
    const Instant moment = now();
    std::vector<Client> staying;
    for (std::size_t at = 0; at < clients.size(); ++at) {
      const bool ready = waits[at + 2].revents != 0;
      if (ready && !clients[at].go_on(answer_)) continue;
      if (moment < clients[at].until()) staying.push_back(std::move(clients[at]));
    }
    clients = std::move(staying);
    if (waits[1].revents != 0) accept_one(clients);
  }
}

void Listener::accept_one(std::vector<Client>& clients) {
  host::Descriptor accepted(
      ::accept4(socket_.number(), nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK));
  if (!accepted.open()) {
    // Without descriptors it stays in the queue: not asked for again at once.
    pollfd end{end_.number(), POLLIN, 0};
    if (errno != EAGAIN && errno != EINTR) ::poll(&end, 1, retry_ms);
  } else if (!may_ask(accepted)) {
    refuse(accepted, {EPERM,
                      "control: this process belongs to another user; only its owner and "
                      "root may ask"});
  } else if (clients.size() >= clients_max) {
    refuse(accepted,
           {EBUSY, fmt::format("control: {} clients at once are served; try again", clients_max)});
  } else {
    clients.emplace_back(std::move(accepted), now());
  }
}

}  // namespace k2k::control
