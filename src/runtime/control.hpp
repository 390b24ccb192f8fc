#pragma once
// How a runtime is seen and steered from outside: its control socket and its page of metrics.
//
// It is the façade's: requests become calls of the very functions that the program itself calls. A
// socket that cannot be had is no failure of the runtime: stats() says why there is none. A port
// that was asked for and cannot be had is one.
//
// Threading: start() once, before anybody else has the runtime; stats() from anywhere; `Subject` is
// called by the socket's thread and the page's.

#include <functional>
#include <memory>
#include <nlohmann/json_fwd.hpp>
#include <span>
#include <string>
#include <string_view>
#include <utility>

#include "base/result.hpp"
#include "base/units.hpp"
#include "control/listener.hpp"
#include "k2k/runtime.hpp"
#include "runtime/report/metrics.hpp"

namespace k2k::runtime {

class Control {
 public:
  // What is seen and steered. Outlives the control.
  struct Subject {
    RuntimeConfig config;  // As it was created; the server's part may have changed.
    std::string device;    // Its name.
    std::function<server::Stats()> stats;
    std::function<server::ServerConfig()> server_config;
    // `edit` gets the configuration in force; it or nothing is in force afterwards.
    std::function<Status(const std::function<Status(server::ServerConfig&)>& edit)> change;
  };

  explicit Control(Subject subject);
  // Errors: those of HttpPage::start().
  Status start();

  [[nodiscard]] server::ControlStats stats() const;

 private:
  Status start_listener();
  std::string answer(std::string_view line) const;
  [[nodiscard]] nlohmann::ordered_json show(bool latency) const;
  Result<nlohmann::ordered_json> set(
      std::span<const std::pair<std::string, std::string>> values) const;

  const Subject subject_;
  const Instant begun_;
  std::string absent_ = "control.socket = false";  // Why there is no socket.
  std::unique_ptr<control::Listener> listener_;
  std::shared_ptr<MetricsSource> metrics_;
};

}  // namespace k2k::runtime
