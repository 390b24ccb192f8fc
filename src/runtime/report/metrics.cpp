#include "runtime/report/metrics.hpp"

#include <pthread.h>

#include <algorithm>
#include <map>
#include <mutex>
#include <new>
#include <utility>
#include <vector>

#include "control/http_page.hpp"
#include "runtime/report/metrics_text.hpp"

namespace k2k::runtime {

// The sources of one port. Statistics are read with the mutex held, so a runtime's end waits for
// them.
class MetricsPage {
 public:
  ~MetricsPage() { http.reset(); }  // Its threads call text().
  std::string text() {
    const std::lock_guard lock(mutex_);
    std::vector<RuntimeMetrics> all;
    for (const auto& [number, stats] : sources_) all.push_back({number, stats()});
    return to_prometheus(all);
  }
  std::uint32_t add(std::function<server::Stats()> stats) {
    const std::lock_guard lock(mutex_);
    sources_[++last_] = std::move(stats);
    return last_;
  }
  void remove(std::uint32_t number) {
    const std::lock_guard lock(mutex_);
    sources_.erase(number);
  }

  std::unique_ptr<control::HttpPage> http;

 private:
  std::mutex mutex_;
  std::map<std::uint32_t, std::function<server::Stats()>> sources_;
  std::uint32_t last_ = 0;
};

namespace {

std::mutex pages_mutex;
std::map<std::uint32_t, std::weak_ptr<MetricsPage>> by_port;

// A child of fork() does not serve the parent's pages, and a thread of the parent may have held the
// lock.
void forget_pages() {
  new (&pages_mutex) std::mutex;
  new (&by_port) decltype(by_port);
}
[[maybe_unused]] const int registered = ::pthread_atfork(nullptr, nullptr, forget_pages);

Result<std::shared_ptr<MetricsPage>> page_at(std::uint32_t port) {
  const std::lock_guard lock(pages_mutex);
  std::weak_ptr<MetricsPage>& known = by_port[port];
  if (auto page = known.lock()) return page;
  auto page = std::make_shared<MetricsPage>();
  auto http = control::HttpPage::start(port, [served = page.get()] { return served->text(); });
  if (!http) return http.error();
  page->http = std::move(http).value();
  known = page;
  return page;
}

}  // namespace

class MetricsSource {
 public:
  MetricsSource(std::shared_ptr<MetricsPage> page, std::uint32_t number)
      : page_(std::move(page)), number_(number) {}
  ~MetricsSource() {
    page_->remove(number_);
    const std::lock_guard lock(pages_mutex);  // The next one of this port finds it free.
    page_.reset();
  }
  MetricsSource(const MetricsSource&) = delete;
  MetricsSource& operator=(const MetricsSource&) = delete;

 private:
  std::shared_ptr<MetricsPage> page_;
  const std::uint32_t number_;
};

Result<std::shared_ptr<MetricsSource>> publish_metrics(std::uint32_t port,
                                                       std::function<server::Stats()> stats) {
  auto page = page_at(port);
  if (!page) return page.error();
  const std::uint32_t number = page.value()->add(std::move(stats));
  return std::make_shared<MetricsSource>(std::move(page).value(), number);
}

}  // namespace k2k::runtime
