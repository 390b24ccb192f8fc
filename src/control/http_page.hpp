#pragma once
// One page over HTTP for this machine alone: http://127.0.0.1:PORT/metrics.
//
// Requests are heads of HTTP/1 and have 2 s to come whole; behind its answer a connection is
// closed. Any user of the machine may ask. The places are shared by user (clients.hpp): who opens
// many connections and asks nothing keeps nobody else from the page.
//
// Threading: `text` is called by the page's one thread, "k2k/metrics".

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <thread>

#include "base/descriptor.hpp"
#include "base/result.hpp"
#include "control/clients.hpp"

namespace k2k::control {

inline constexpr std::size_t page_clients_max = 64;

class HttpPage {
 public:
  // Errors: EADDRINUSE, EACCES and others of socket(2) and bind(2), with the port; EAGAIN, no
  // thread could be started.
  static Result<std::unique_ptr<HttpPage>> start(std::uint32_t port,
                                                 std::function<std::string()> text);
  // Waits for an answer that is being made. Not in a forked child, whose copy is to be forgotten.
  ~HttpPage();
  HttpPage(const HttpPage&) = delete;
  HttpPage& operator=(const HttpPage&) = delete;

 private:
  explicit HttpPage(std::function<std::string()> text);
  Status listen(std::uint32_t port);
  Status start_thread();
  void serve();
  [[nodiscard]] std::string answer(std::string_view head) const;

  void end_without_descriptors() const;

  const std::function<std::string()> text_;
  std::uint32_t port_ = 0;
  std::atomic<bool> ending_{false};
  Descriptor socket_;
  Descriptor end_;  // An eventfd.
  std::unique_ptr<Clients> clients_;
  std::thread thread_;
};

}  // namespace k2k::control
