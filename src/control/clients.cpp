#include "control/clients.hpp"

#include <sys/socket.h>

#include <algorithm>
#include <cerrno>
#include <map>
#include <new>
#include <thread>
#include <tuple>

#include "base/clock.hpp"
#include "control/inherited.hpp"

namespace k2k::control {

namespace {

constexpr int retry_ms = 100;

// Text that does not fit into the socket's buffer is lost: the connection is closed either way.
void say(const Descriptor& socket, std::string_view text) {
  static_cast<void>(::send(socket.number(), text.data(), text.size(), MSG_DONTWAIT | MSG_NOSIGNAL));
}

}  // namespace

// One connection. Reads a request, then writes its answer, and so on.
class Clients::Client {
 public:
  Client(Descriptor socket, std::int64_t peer, Instant moment)
      : socket_(std::move(socket)), peer_(peer), until_(moment + patience) {
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
  [[nodiscard]] std::int64_t peer() const { return peer_; }
  [[nodiscard]] bool is_asking() const { return out_.empty(); }
  void say(std::string_view text) const { control::say(socket_, text); }

  // False: it is to be closed.
  bool go_on(const Rules& rules) { return out_.empty() ? read_some(rules) : write_some(); }

 private:
  bool read_some(const Rules& rules) {
    char piece[4096];
    const ssize_t count = ::recv(socket_.number(), piece, sizeof(piece), MSG_DONTWAIT);
    if (count < 0) return errno == EAGAIN || errno == EINTR;
    if (count == 0) return false;
    in_.append(piece, static_cast<std::size_t>(count));
    const std::size_t end = in_.find(rules.end);
    const bool whole = end != std::string::npos;
    if (!whole && in_.size() <= rules.request_bytes_max) return true;
    // A request that is too long is answered as well; then the connection ends, because the end of
    // the request is unknown.
    out_ = rules.answer(std::string_view(in_).substr(0, end));
    last_ = rules.one_request || !whole || end > rules.request_bytes_max;
    in_.erase(0, whole ? end + rules.end.size() : end);
    if (!in_.empty()) last_ = true;  // One at a time: the next comes behind the answer.
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
    return !last_ || take_leave();
  }

  // Reads remaining input first: if the connection were closed before, it would be reset and the
  // answer lost.
  bool take_leave() {
    char rest[4096];
    static_cast<void>(::shutdown(socket_.number(), SHUT_WR));
    for (int piece = 0; piece < 64; ++piece) {
      if (::recv(socket_.number(), rest, sizeof(rest), MSG_DONTWAIT) <= 0) break;
    }
    return false;
  }

  Descriptor socket_;
  std::int64_t peer_;
  Instant until_;
  std::string in_;
  std::string out_;
  bool last_ = false;
};

Clients::Clients(Rules rules) : rules_(std::move(rules)) {
  waits_.reserve(rules_.places + 2);
  clients_.reserve(rules_.places + 1);
}
Clients::~Clients() = default;

void Clients::serve(const Descriptor& socket, const Descriptor& end,
                    const std::atomic<bool>& ending) {
  while (!ending.load()) {
    waits_.assign({{end.number(), POLLIN, 0}, {socket.number(), POLLIN, 0}});
    for (const Client& client : clients_) waits_.push_back(client.waits_for());
    if (::poll(waits_.data(), waits_.size(), timeout_ms()) < 0) continue;
    const bool closed = ((waits_[0].revents | waits_[1].revents) & POLLNVAL) != 0;
    if (waits_[0].revents != 0 && !closed) return;
    if (closed) std::this_thread::sleep_for(std::chrono::milliseconds(retry_ms));
    const bool newcomers = waits_[1].revents != 0;
    go_on();
    if (newcomers) accept_some(socket, end);
  }
}

// Until the first of them runs out, rounded up; -1 = for ever.
int Clients::timeout_ms() const {
  if (clients_.empty()) return -1;
  Instant first = clients_.front().until();
  for (const Client& client : clients_) first = std::min(first, client.until());
  const auto left = std::chrono::ceil<std::chrono::milliseconds>(first - now());
  return static_cast<int>(std::max<std::int64_t>(left.count(), 0));
}

void Clients::go_on() {
  const Instant moment = now();
  std::size_t place = 2;
  std::erase_if(clients_, [&](Client& client) {
    const bool ready = waits_[place++].revents != 0;
    return (ready && !goes_on(client)) || moment >= client.until();
  });
}

// A client that cannot be answered for lack of memory is closed.
bool Clients::goes_on(Client& client) const {
  try {
    return client.go_on(rules_);
  } catch (const std::bad_alloc&) {
    return false;
  }
}

void Clients::accept_some(const Descriptor& socket, const Descriptor& end) {
  for (std::size_t count = 0; count < rules_.places; ++count) {
    Descriptor accepted(::accept4(socket.number(), nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK));
    if (!accepted.open()) {
      // Without a free descriptor the connection stays in the queue; it is not retried at once.
      pollfd ends{end.number(), POLLIN, 0};
      if (errno != EAGAIN && errno != EINTR && errno != ECONNABORTED) ::poll(&ends, 1, retry_ms);
      return;
    }
    try {
      admit(std::move(accepted));
    } catch (const std::bad_alloc&) {
      continue;  // Closed.
    }
  }
}

void Clients::admit(Descriptor accepted) {
  const Admission admission = rules_.admit(accepted);
  if (!admission.refusal.empty()) {
    say(accepted, admission.refusal);
    return;
  }
  // A complete request is answered before the next connection is accepted, and takes no place.
  Client client(std::move(accepted), admission.peer, now());
  if (!client.go_on(rules_)) return;
  if (clients_.size() >= rules_.places) make_room();
  clients_.push_back(std::move(client));
}

void Clients::make_room() {
  std::map<std::int64_t, std::size_t> places_of;
  for (const Client& client : clients_) ++places_of[client.peer()];
  const auto rank = [&](const Client& client) {
    return std::tuple(places_of[client.peer()], client.is_asking(),
                      -client.until().time_since_epoch());
  };
  const auto leaves =
      std::max_element(clients_.begin(), clients_.end(),
                       [&](const Client& a, const Client& b) { return rank(a) < rank(b); });
  if (leaves->is_asking()) leaves->say(rules_.crowded_out);
  clients_.erase(leaves);
}

}  // namespace k2k::control
