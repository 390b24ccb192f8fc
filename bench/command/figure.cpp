#include "bench/command/figure.hpp"

#include <fmt/format.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <nlohmann/json.hpp>
#include <utility>

#include "base/clock.hpp"
#include "cli/text_table.hpp"

namespace k2k::bench {

namespace {

std::string heading(const nlohmann::ordered_json& axis) {
  return fmt::format("{}, {}", axis["name"].get<std::string>(), axis["unit"].get<std::string>());
}

std::string cell(const nlohmann::ordered_json& value) {
  return value.is_string() ? value.get<std::string>() : value.dump();
}

}  // namespace

Figure::Figure(Axis x, Axis y, std::vector<double> places, std::vector<std::string> series)
    : x_(x),
      y_(y),
      places_(std::move(places)),
      series_(std::move(series)),
      samples_(series_.size(), std::vector<Samples>(places_.size())) {}

double Figure::median(std::size_t series, std::size_t place) const {
  return samples_[series][place].median();
}

nlohmann::ordered_json Figure::json() const {
  nlohmann::ordered_json series = nlohmann::ordered_json::object();
  const std::size_t runs = samples_.front().front().size();
  for (std::size_t index = 0; index < series_.size(); ++index) {
    nlohmann::ordered_json& one = series[series_[index]];
    for (const Samples& samples : samples_[index]) {
      K2K_EXPECT(samples.size() == runs);
      one["median"].push_back(rounded(samples.median()));
      one["mean"].push_back(rounded(samples.mean()));
      one["sd"].push_back(rounded(samples.deviation()));
    }
  }
  nlohmann::ordered_json figure;
  figure["x"] = {{"name", x_.name}, {"unit", x_.unit}, {"values", places_}};
  figure["y"] = {{"name", y_.name}, {"unit", y_.unit}};
  figure["runs"] = runs;
  figure["series"] = series;
  return figure;
}

bool is_figure(const nlohmann::ordered_json& value) {
  return value.is_object() && value.contains("x") && value.contains("series");
}

std::string figure_text(const nlohmann::ordered_json& figure) {
  std::vector<std::vector<std::string>> rows(1);
  rows[0].push_back(heading(figure["x"]));
  for (const auto& [name, values] : figure["series"].items()) rows[0].push_back(name);
  const auto& places = figure["x"]["values"];
  for (std::size_t place = 0; place < places.size(); ++place) {
    std::vector<std::string> row = {fmt::format("{:g}", places[place].get<double>())};
    for (const auto& [name, values] : figure["series"].items()) {
      row.push_back(cell(values["median"][place]));
    }
    rows.push_back(row);
  }
  return fmt::format("{} (median of {})\n{}", heading(figure["y"]), figure["runs"].get<int>(),
                     cli::text_table(rows, false));
}

bool is_table(const nlohmann::ordered_json& value) {
  return value.is_array() && !value.empty() && value.front().is_object();
}

std::string table_text(const nlohmann::ordered_json& table) {
  std::vector<std::vector<std::string>> rows(1);
  for (const auto& [key, value] : table.front().items()) rows[0].push_back(key);
  for (const auto& object : table) {
    std::vector<std::string> row;
    for (const auto& [key, value] : object.items()) row.push_back(cell(value));
    rows.push_back(row);
  }
  return cli::text_table(rows, false);
}

Rounds::Rounds(std::string name, int least, int most, double budget_s)
    : least_(least),
      most_(most),
      budget_(static_cast<std::int64_t>(budget_s * 1e9)),
      begin_(now()),
      round_(begin_),
      progress_("bench " + std::move(name), "rounds") {}

bool Rounds::next() {
  const Instant moment = now();
  if (done_ > 0) longest_ = std::max(longest_, Nanoseconds(moment - round_));
  round_ = moment;
  if (done_ >= most_ || (done_ >= least_ && moment - begin_ + longest_ > budget_)) return false;
  if (done_ > 0) {
    const auto in_time = static_cast<int>(budget_ / std::max(longest_, Nanoseconds(1)));
    const int all = std::clamp(in_time, std::min(least_, most_), most_);
    progress_.tell(static_cast<std::size_t>(done_), static_cast<std::size_t>(all));
  }
  ++done_;
  return true;
}

Result<MemoryFile> MemoryFile::create(std::size_t bytes) {
  MemoryFile file(::memfd_create("k2k-bench", MFD_CLOEXEC));
  if (file.descriptor_ < 0) {
    return Error{errno, fmt::format("no file in memory: {}", std::strerror(errno))};
  }
  const std::vector<char> block(std::min(bytes, std::size_t{1} << 20), 'k');
  for (std::size_t written = 0; written < bytes;) {
    const ssize_t count =
        ::write(file.descriptor_, block.data(), std::min(block.size(), bytes - written));
    if (count <= 0) {
      return Error{errno,
                   fmt::format("no file of {} bytes in memory: {}", bytes, std::strerror(errno))};
    }
    written += static_cast<std::size_t>(count);
  }
  return file;
}

MemoryFile::~MemoryFile() {
  if (descriptor_ >= 0) ::close(descriptor_);
}

}  // namespace k2k::bench
