#pragma once
// One page over HTTP for this machine alone: http://127.0.0.1:PORT/metrics.
//
// civetweb serves it. The library is loaded when the first page is started, so that nobody else
// pays for it and none of its names is ours.
//
// Threading: `text` is called by threads of the page's own, with a stack of usual size.

#include <cstdint>
#include <functional>
#include <memory>
#include <string>

#include "base/result.hpp"

namespace k2k::control {

class HttpPage {
 public:
  // Errors: ENOENT, no civetweb on this machine; EADDRINUSE, EACCES and others of bind(2), with
  // the port.
  static Result<std::unique_ptr<HttpPage>> start(std::uint32_t port,
                                                 std::function<std::string()> text);
  // Waits for answers that are being made. Not in a forked child, whose copy is to be forgotten.
  ~HttpPage();
  HttpPage(const HttpPage&) = delete;
  HttpPage& operator=(const HttpPage&) = delete;

 private:
  struct Server;
  explicit HttpPage(std::unique_ptr<Server> server);
  std::unique_ptr<Server> server_;
};

}  // namespace k2k::control
