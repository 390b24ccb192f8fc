#include "control/http_page.hpp"

#include <arpa/inet.h>
#include <fmt/format.h>
#include <netinet/in.h>
#include <pthread.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <exception>
#include <optional>
#include <system_error>

#include "base/own_process.hpp"
#include "base/signals_blocked.hpp"
#include "control/clients.hpp"
#include "control/inherited.hpp"
#include "control/user_of_port.hpp"

namespace k2k::control {

namespace {

constexpr std::string_view page = "/metrics";
constexpr std::string_view content_type = "text/plain; version=0.0.4; charset=utf-8";
constexpr std::size_t head_bytes_max = 16 << 10;
// The longest queue that Linux permits: a connection that finds the queue full retries a second
// later, so a client with hundreds of connections would delay others.
constexpr int connections_waiting_max = SOMAXCONN;
constexpr std::int64_t nobody = -1;

std::string response(std::string_view status, std::string_view type, std::string_view body) {
  return fmt::format(
      "HTTP/1.1 {}\r\nContent-Type: {}\r\nContent-Length: {}\r\nConnection: close\r\n\r\n{}",
      status, type, body.size(), body);
}

std::string refusal(std::string_view status, std::string_view why) {
  return response(status, "text/plain", why);
}

struct RequestLine {
  std::string_view method;
  std::string_view target;  // Without its query.
};

std::optional<RequestLine> parse(std::string_view head) {
  const std::string_view line = head.substr(0, head.find("\r\n"));
  const std::size_t first = line.find(' ');
  const std::size_t last = line.rfind(' ');
  if (first == std::string_view::npos || first == 0 || last == first) return {};
  if (!line.substr(last + 1).starts_with("HTTP/1.")) return {};
  const std::string_view target = line.substr(first + 1, last - first - 1);
  return RequestLine{line.substr(0, first), target.substr(0, target.find('?'))};
}

sockaddr_in loopback(std::uint32_t port) {
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_port = htons(static_cast<std::uint16_t>(port));
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  return address;
}

Error no_thread(const std::system_error& failure) {
  return {EAGAIN, fmt::format("metrics.port: no thread could be started ({}); raise the limit on "
                              "processes: ulimit -u",
                              failure.what())};
}

}  // namespace

HttpPage::HttpPage(std::function<std::string()> text) : text_(std::move(text)) {}

Result<std::unique_ptr<HttpPage>> HttpPage::start(std::uint32_t port,
                                                  std::function<std::string()> text) {
  std::unique_ptr<HttpPage> made(new HttpPage(std::move(text)));
  if (Status status = made->listen(port); !status) return status.error();
  if (Status status = made->start_thread(); !status) return status.error();
  return made;
}

Status HttpPage::listen(std::uint32_t port) {
  end_ = Descriptor(::eventfd(0, EFD_CLOEXEC));
  socket_ = Descriptor(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  if (!end_.open() || !socket_.open()) {
    return Error{errno,
                 fmt::format("metrics.port is {}: no descriptor: {}; raise the limit on open "
                             "files: ulimit -n",
                             port, std::strerror(errno))};
  }
  close_in_child(end_.number());
  close_in_child(socket_.number());
  const int reuse = 1;  // Connections that have ended are no hindrance.
  ::setsockopt(socket_.number(), SOL_SOCKET, SO_REUSEADDR, &reuse, sizeof(reuse));
  port_ = port;
  const sockaddr_in address = loopback(port);
  if (::bind(socket_.number(), reinterpret_cast<const sockaddr*>(&address), sizeof(address)) != 0 ||
      ::listen(socket_.number(), connections_waiting_max) != 0) {
    return Error{errno, fmt::format("metrics.port is {}: 127.0.0.1:{}: {}; choose another port, or "
                                    "0 for none",
                                    port, port, std::strerror(errno))};
  }
  return {};
}

Status HttpPage::start_thread() {
  clients_ = std::make_unique<Clients>(
      Clients::Rules{.places = page_clients_max,
                     .request_bytes_max = head_bytes_max,
                     .end = "\r\n\r\n",
                     .one_request = true,
                     .admit = [](const Descriptor& socket) -> Clients::Admission {
                       const std::optional<uid_t> user = user_of_port(socket);
                       return {user ? std::int64_t{*user} : nobody, {}};
                     },
                     .answer = [this](std::string_view head) { return answer(head); },
                     .crowded_out = refusal("503 Service Unavailable", "newer clients came\n")});
  const SignalsBlocked guard;
  try {
    thread_ = std::thread([this] { serve(); });
  } catch (const std::system_error& failure) {
    return no_thread(failure);
  }
  return {};
}

HttpPage::~HttpPage() {
  ending_.store(true);
  const std::uint64_t one = 1;
  const bool told = ::write(end_.number(), &one, sizeof(one)) == sizeof(one);
  if (thread_.joinable() && !told) end_without_descriptors();
  if (thread_.joinable()) thread_.join();
  if (socket_.open()) keep_in_child(socket_.number());
  if (end_.open()) keep_in_child(end_.number());
}

// The program closed them. A thread that sleeps still holds its socket: a guest wakes it.
void HttpPage::end_without_descriptors() const {
  const Descriptor guest(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  const sockaddr_in address = loopback(port_);
  static_cast<void>(
      ::connect(guest.number(), reinterpret_cast<const sockaddr*>(&address), sizeof(address)));
}

void HttpPage::serve() {
  const OwnThread own;
  pthread_setname_np(pthread_self(), "k2k/metrics");
  clients_->serve(socket_, end_, ending_);
}

std::string HttpPage::answer(std::string_view head) const {
  if (head.size() > head_bytes_max) {
    return refusal("431 Request Header Fields Too Large", "the request is too long\n");
  }
  const std::optional<RequestLine> line = parse(head);
  if (!line) return refusal("400 Bad Request", "this is no request of HTTP/1\n");
  if (line->target != page) return refusal("404 Not Found", "the page is /metrics\n");
  if (line->method != "GET" && line->method != "HEAD") {
    return refusal("405 Method Not Allowed", "only GET\n");
  }
  try {
    std::string whole = response("200 OK", content_type, text_());
    if (line->method == "HEAD") whole.erase(whole.find("\r\n\r\n") + 4);
    return whole;
  } catch (const std::exception& error) {
    return refusal("500 Internal Server Error", error.what());
  }
}

}  // namespace k2k::control
