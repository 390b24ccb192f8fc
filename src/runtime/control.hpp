#pragma once
// Lets other processes observe and control a runtime: its control socket and its metrics page.
//
// Requests become calls of the same functions that the program itself calls. A runtime also works
// without a socket: stats() gives the reason. A requested port that is not available, however, is
// an error.
//
// Threading: start() once, before other threads have the runtime; stats() from anywhere; the
// threads of the socket and of the page call `Subject`.

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
  // The observed and controlled runtime. Must outlive the control.
  struct Subject {
    RuntimeConfig config;  // As created; the server's settings may have changed.
    std::string device;    // Its name.
    std::function<server::Stats()> stats;
    std::function<server::ServerConfig()> server_config;
    // `edit` receives the current configuration; afterwards its result is in force, or nothing has
    // changed.
    std::function<Status(const std::function<Status(server::ServerConfig&)>& edit)> change;
  };

  explicit Control(Subject subject);
  // Errors: as HttpPage::start().
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
  std::string absent_ = "control.socket = false";  // The reason why there is no socket.
  std::unique_ptr<control::Listener> listener_;
  std::shared_ptr<MetricsSource> metrics_;
};

}  // namespace k2k::runtime
