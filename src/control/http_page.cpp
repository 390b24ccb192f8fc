#include "control/http_page.hpp"

#include <arpa/inet.h>
#include <civetweb.h>
#include <dlfcn.h>
#include <fmt/format.h>
#include <netinet/in.h>
#include <sys/socket.h>

#include <cerrno>
#include <chrono>
#include <cstring>
#include <exception>
#include <future>
#include <string_view>

#include "base/signals_blocked.hpp"
#include "host/place.hpp"

namespace k2k::control {

namespace {

constexpr const char* library = "libcivetweb.so.1";
constexpr const char* page = "/metrics";
constexpr std::string_view content_type = "text/plain; version=0.0.4; charset=utf-8";

// What is used of civetweb. Loaded once and never unloaded.
struct Civetweb {
  decltype(&mg_start) start = nullptr;
  decltype(&mg_stop) stop = nullptr;
  decltype(&mg_set_request_handler) set_request_handler = nullptr;
  decltype(&mg_get_request_info) get_request_info = nullptr;
  decltype(&mg_write) write = nullptr;

  [[nodiscard]] bool complete() const {
    return start != nullptr && stop != nullptr && set_request_handler != nullptr &&
           get_request_info != nullptr && write != nullptr;
  }
};

template <class Function>
void find(void* from, const char* name, Function& function) {
  function = reinterpret_cast<Function>(::dlsym(from, name));
}

Result<Civetweb> load() {
  void* const from = ::dlopen(library, RTLD_NOW | RTLD_LOCAL);
  Civetweb found;
  if (from != nullptr) {
    find(from, "mg_start", found.start);
    find(from, "mg_stop", found.stop);
    find(from, "mg_set_request_handler", found.set_request_handler);
    find(from, "mg_get_request_info", found.get_request_info);
    find(from, "mg_write", found.write);
  }
  if (found.complete()) return found;
  return Error{ENOENT,
               fmt::format("metrics.port needs {}, which is not on this machine; apt install "
                           "libcivetweb1, or set metrics.port = 0",
                           library)};
}

const Result<Civetweb>& civetweb() {
  static const Result<Civetweb> loaded = load();
  return loaded;
}

sockaddr_in loopback(std::uint32_t port) {
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_port = htons(static_cast<std::uint16_t>(port));
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  return address;
}

// civetweb says of a port that is taken only that it failed; this says why.
Status try_port(std::uint32_t port) {
  const host::Descriptor probe(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  const int reuse = 1;  // As civetweb does: connections that have ended are no hindrance.
  ::setsockopt(probe.number(), SOL_SOCKET, SO_REUSEADDR, &reuse, sizeof(reuse));
  const sockaddr_in address = loopback(port);
  const auto* const plain = reinterpret_cast<const sockaddr*>(&address);
  if (probe.open() && ::bind(probe.number(), plain, sizeof(address)) == 0 &&
      ::listen(probe.number(), 1) == 0) {
    return {};
  }
  const int code = errno;
  return Error{code, fmt::format("metrics.port is {}: 127.0.0.1:{}: {}; choose another port, or 0 "
                                 "for none",
                                 port, port, std::strerror(code))};
}

std::string response(const char* status, std::string_view type, std::string_view body) {
  return fmt::format(
      "HTTP/1.1 {}\r\nContent-Type: {}\r\nContent-Length: {}\r\nConnection: close\r\n\r\n{}",
      status, type, body.size(), body);
}

}  // namespace

struct HttpPage::Server {
  std::function<std::string()> text;
  std::uint32_t port = 0;
  mg_context* context = nullptr;

  std::string answer(std::string_view method) const {
    if (method != "GET" && method != "HEAD") {
      return response("405 Method Not Allowed", "text/plain", "only GET\n");
    }
    try {
      // On a stack of usual size: those of civetweb's threads have 100 KiB, and statistics are
      // large.
      const std::string body = std::async(std::launch::async, text).get();
      std::string whole = response("200 OK", content_type, body);
      if (method == "HEAD") whole.erase(whole.find("\r\n\r\n") + 4);
      return whole;
    } catch (const std::exception& error) {
      return response("500 Internal Server Error", "text/plain", error.what());
    }
  }

  static int handle(mg_connection* connection, void* self) {
    const mg_request_info* const info = civetweb().value().get_request_info(connection);
    const bool exact = std::string_view(info->local_uri) == page;
    const std::string whole =
        exact ? static_cast<const Server*>(self)->answer(info->request_method)
              : response("404 Not Found", "text/plain", "the page is /metrics\n");
    civetweb().value().write(connection, whole.data(), whole.size());
    return 1;  // Handled.
  }

  static int say_nothing(const mg_connection*, const char*) { return 1; }
};

HttpPage::HttpPage(std::unique_ptr<Server> server) : server_(std::move(server)) {}

Result<std::unique_ptr<HttpPage>> HttpPage::start(std::uint32_t port,
                                                  std::function<std::string()> text) {
  if (!civetweb()) return civetweb().error();
  if (Status free = try_port(port); !free) return free.error();
  const std::string ports = fmt::format("127.0.0.1:{}", port);
  // Without a document root it serves no files. Two threads: one client that stalls is no stop.
  const char* options[] = {"listening_ports",    ports.c_str(), "num_threads", "2",
                           "request_timeout_ms", "2000",        nullptr};
  mg_callbacks callbacks{};
  callbacks.log_message = Server::say_nothing;
  auto server = std::make_unique<Server>();
  server->text = std::move(text);
  server->port = port;
  {
    const SignalsBlocked guard;
    server->context = civetweb().value().start(&callbacks, server.get(), options);
  }
  if (server->context == nullptr) {
    return Error{EADDRINUSE,
                 fmt::format("metrics.port is {}: civetweb could not serve 127.0.0.1:{}; "
                             "choose another port, or 0 for none",
                             port, port)};
  }
  civetweb().value().set_request_handler(server->context, "/", Server::handle, server.get());
  return std::unique_ptr<HttpPage>(new HttpPage(std::move(server)));
}

// civetweb looks every two seconds whether it is to stop, and at each connection.
HttpPage::~HttpPage() {
  auto stopped = std::async(std::launch::async,
                            [context = server_->context] { civetweb().value().stop(context); });
  const sockaddr_in address = loopback(server_->port);
  const auto* const plain = reinterpret_cast<const sockaddr*>(&address);
  while (stopped.wait_for(std::chrono::milliseconds(5)) != std::future_status::ready) {
    const host::Descriptor poke(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
    static_cast<void>(::connect(poke.number(), plain, sizeof(address)));
  }
}

}  // namespace k2k::control
