#pragma once
// One page over HTTP for this machine alone: http://127.0.0.1:PORT/metrics.
//
// Requests are HTTP/1 heads and must arrive completely within 2 s; a connection is closed after its
// answer. Any user of the machine may request the page. The places are divided by user
// (clients.hpp): a user who opens many connections without a request keeps no other user from the
// page.
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
  // Waits for an answer in progress. Do not call it in a forked child; the child must abandon its
  // copy.
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
