// k2k route explain: how the router would serve one read of a file, and why.

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <charconv>
#include <cstring>
#include <ctime>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <optional>

#include "base/descriptor.hpp"
#include "cli/route.hpp"
#include "cli/running.hpp"
#include "cli/text_table.hpp"
#include "io/file/residency.hpp"
#include "router/plan/explain.hpp"
#include "router/profile/profile.hpp"

namespace k2k::cli {

namespace {

using nlohmann::ordered_json;
using router::page_bytes;
using router::Segment;

constexpr std::uint64_t length_max = std::uint64_t{router::pages_max} * page_bytes;
constexpr std::size_t segments_shown = 40;
constexpr const char* mistrusted =
    "Linux reports every page as cached to users who neither own a file nor may write it, so the "
    "residency is unknown here: ask as the owner";

// "4096", "64K", "64KiB", "8M", "1G".
std::optional<std::uint64_t> bytes_of(const std::string& text) {
  std::uint64_t number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc()) return {};
  std::string unit(end, text.data() + text.size());
  if (unit.size() == 3 && unit.ends_with("iB")) unit.resize(1);
  const std::string units = "KMG";
  if (unit.empty()) return number;
  if (unit.size() != 1 || units.find(unit) == std::string::npos) return {};
  const std::size_t shift = 10 * (units.find(unit) + 1);
  if (number > UINT64_MAX >> shift) return {};
  return number << shift;
}

// The partial page at an end of the request: a direct transfer cannot read it.
struct Piece {
  std::uint64_t bytes = 0;
  bool cached = false;
  double us = 0;
};

struct ExplainedRequest {
  std::string file;
  std::uint64_t offset = 0;
  std::uint64_t bytes = 0;       // Up to the end of the file.
  std::uint64_t beyond = 0;      // Requested beyond the end of the file.
  std::uint64_t first_page = 0;  // The first whole page, as a page number of the file.
  std::vector<std::uint8_t> residency;
  Piece head;
  Piece tail;
  bool trusted = true;

  [[nodiscard]] std::size_t cached() const {
    return static_cast<std::size_t>(std::count(residency.begin(), residency.end(), 1));
  }
};

// The file's size. Errors: files that cannot be planned for.
Result<std::uint64_t> size_of(const Descriptor& file, const std::string& path) {
  struct stat facts{};
  if (file.number() < 0 || fstat(file.number(), &facts) != 0) {
    return Error{errno, fmt::format("cannot open {}: {}", path, std::strerror(errno))};
  }
  if (S_ISDIR(facts.st_mode)) return Error{EISDIR, path + " is a folder; name a file"};
  if (!S_ISREG(facts.st_mode)) return Error{EINVAL, path + " is not a regular file; name one"};
  return static_cast<std::uint64_t>(facts.st_size);
}

// Head, whole pages, tail; and which of them are cached.
Result<ExplainedRequest> look_at(const Descriptor& file, const Explain& wanted,
                                 std::uint64_t offset, std::uint64_t length) {
  const Result<std::uint64_t> size = size_of(file, wanted.file);
  if (!size) return size.error();
  if (offset >= size.value()) {
    return Error{EINVAL, fmt::format("offset {} lies beyond the end of {}, which has {} bytes",
                                     offset, wanted.file, size.value())};
  }
  ExplainedRequest request;
  request.file = wanted.file;
  request.offset = offset;
  request.bytes = std::min(length, size.value() - offset);
  request.beyond = length - request.bytes;
  Result<io::ResidencyProbe> probe = io::ResidencyProbe::open(file.number());
  if (!probe) return Error{probe.error().code, wanted.file + ": " + probe.error().message};
  request.trusted = probe->method() != io::ProbeMethod::sampled;
  const std::uint64_t end = offset + request.bytes;
  const std::uint64_t first = offset / page_bytes;
  std::vector<std::uint8_t> all((end + page_bytes - 1) / page_bytes - first);
  probe->probe(file.number(), first, all, 1);
  auto from = all.begin();
  auto to = all.end();
  request.first_page = first;
  if (offset % page_bytes != 0) {
    request.head.bytes = std::min(request.bytes, page_bytes - offset % page_bytes);
    request.head.cached = *from++ != 0;
    ++request.first_page;
  }
  // At the end of the file, a direct transfer may read the whole page.
  if (from != to && end % page_bytes != 0 && end != size.value()) {
    request.tail.bytes = end % page_bytes;
    request.tail.cached = *--to != 0;
  }
  request.residency.assign(from, to);
  return request;
}

const char* name_of(router::ProfileState state) {
  switch (state) {
    case router::ProfileState::measured:
      return "measured";
    case router::ProfileState::stale:
      return "stale";
    case router::ProfileState::absent:
      break;
  }
  return "default";
}

struct Answer {
  std::vector<Segment> segments;
  double us = 0;
  double all_direct_us = 0;
  double all_cached_us = 0;
};

// The uncached pages come through the page cache by a transfer of their own.
void price(const router::Model& model, Piece& piece) {
  if (piece.bytes == 0) return;
  piece.us = piece.cached ? cache_bytes_us(model, static_cast<double>(piece.bytes)) : model.call_us;
}

Result<Answer> answer(const router::Model& model, const Schedule& schedule,
                      ExplainedRequest& request) {
  Answer all;
  price(model, request.head);
  price(model, request.tail);
  const double pieces = request.head.us + request.tail.us;
  const auto pages = static_cast<std::uint32_t>(request.residency.size());
  all.us = pieces;
  all.all_direct_us = pieces + direct_us(model, pages);
  all.all_cached_us = cache_bytes_us(model, static_cast<double>(request.bytes));
  if (pages == 0) return all;
  Result<router::Planner> planner = router::Planner::create(model, pages);
  if (!planner) return planner.error();
  labs::routing::Baselines baselines(planner.value().costs(), pages);
  const router::Plan plan = schedule.make({planner.value(), baselines}, request.residency);
  all.segments = router::explain(model, router::never_from_cache(planner->costs()), plan,
                                 request.residency, schedule.rule);
  all.us += schedule.overlapped ? microseconds_together(model, plan).overlapped()
                                : microseconds_of(model, plan).serial();
  return all;
}

ordered_json describe(const Piece& piece) {
  return {{"bytes", piece.bytes}, {"cached", piece.cached}, {"time_us", piece.us}};
}

ordered_json as_json(const ExplainedRequest& request, const router::Loaded& profile,
                     const Schedule& schedule, const Answer& found) {
  ordered_json segments = ordered_json::array();
  for (const Segment& each : found.segments) {
    segments.push_back({{"first_page", request.first_page + each.range.first},
                        {"pages", each.range.pages()},
                        {"way", each.from_cache ? "cache" : "p2p"},
                        {"cached_pages", each.cached},
                        {"time_us", each.us},
                        {"why", each.why}});
  }
  const router::Model& model = profile.model;
  return {{"file", request.file},
          {"offset", request.offset},
          {"bytes", request.bytes},
          {"bytes_beyond_the_end", request.beyond},
          {"pages", request.residency.size()},
          {"cached_pages", request.cached()},
          {"residency_trusted", request.trusted},
          {"profile",
           {{"state", name_of(profile.state)},
            {"path", profile.path},
            {"says", profile.says},
            {"call_us", model.call_us},
            {"cutoff_bytes", model.cutoff_bytes},
            {"direct_gbs", model.direct_gbs},
            {"cache_gbs", model.cache_gbs},
            {"next_us", model.next_us}}},
          {"schedule", schedule.name},
          {"head", describe(request.head)},
          {"segments", segments},
          {"tail", describe(request.tail)},
          {"time_us", found.us},
          {"all_direct_us", found.all_direct_us},
          {"if_all_cached_us", found.all_cached_us}};
}

std::string profile_text(const router::Loaded& profile) {
  const router::Model& model = profile.model;
  std::string text = fmt::format(
      "C {:.1f} us, S {}, direct {:.3g} GB/s, cache {:.3g} GB/s", model.call_us,
      in_bytes(static_cast<std::size_t>(model.cutoff_bytes)), model.direct_gbs, model.cache_gbs);
  if (model.next_us > 0) text += fmt::format(", next {:.1f} us", model.next_us);
  const bool measured = profile.state == router::ProfileState::measured;
  return text + "\n          " +
         (measured ? "measured: " + harmless(profile.path) : harmless(profile.says));
}

void add_piece(std::vector<std::vector<std::string>>& rows, const char* name, const Piece& piece) {
  if (piece.bytes == 0) return;
  rows.push_back({name, "cache", fmt::format("{:.1f}", piece.us),
                  fmt::format("{} bytes, no whole page: read through the page cache, {}",
                              piece.bytes, piece.cached ? "which has it" : "which has it not")});
}

std::string explanation_text(const ExplainedRequest& request, const router::Loaded& profile,
                             const Schedule& schedule, const Answer& found, bool color) {
  std::string text =
      fmt::format("request   {} bytes from {} of {}: {} whole pages, {} cached\n", request.bytes,
                  request.offset, request.file, request.residency.size(), request.cached());
  if (request.beyond > 0) {
    text += fmt::format("          truncated by {} bytes at the end of the file\n", request.beyond);
  }
  if (!request.trusted) text += fmt::format("          {}\n", mistrusted);
  text += fmt::format("profile   {}\n", profile_text(profile));
  std::vector<std::vector<std::string>> rows = {{"pages", "way", "us", "why"}};
  add_piece(rows, "head", request.head);
  for (std::size_t at = 0; at < std::min(found.segments.size(), segments_shown); ++at) {
    const Segment& each = found.segments[at];
    rows.push_back({fmt::format("{}-{}", request.first_page + each.range.first,
                                request.first_page + each.range.last - 1),
                    each.from_cache ? "cache" : "p2p", fmt::format("{:.1f}", each.us), each.why});
  }
  if (found.segments.size() > segments_shown) {
    rows.push_back(
        {"...", "", "", fmt::format("{} more (--json)", found.segments.size() - segments_shown)});
  }
  add_piece(rows, "tail", request.tail);
  text += text_table(rows, color);
  return text + fmt::format(
                    "predicted {:.1f} us ({}); all direct {:.1f} us; were all of it cached, "
                    "{:.1f} us\n",
                    found.us, schedule.name, found.all_direct_us, found.all_cached_us);
}

// The folder to name in the advice of a message.
std::string folder_of(const std::string& file) {
  const std::string parent = std::filesystem::path(file).parent_path().string();
  return parent.empty() ? "." : parent;
}

Result<router::Loaded> profile_of(const Descriptor& file, const std::string& path) {
  const Result<router::Identity> identity = router::identify(file.number());
  if (!identity) return identity.error();
  const Result<std::string> folder = router::profile_folder();
  if (!folder) return folder.error();
  return router::load(folder.value(), identity.value(), std::time(nullptr), folder_of(path));
}

}  // namespace

int explain_route(const Context& context, const Explain& wanted) {
  const Schedule* const schedule = find_schedule(wanted.schedule);
  if (schedule == nullptr) return complain_schedule(wanted.schedule);
  const std::optional<std::uint64_t> offset = bytes_of(wanted.offset);
  const std::optional<std::uint64_t> length = bytes_of(wanted.length);
  for (const auto& [word, number] : {std::pair(&wanted.offset, offset), {&wanted.length, length}}) {
    if (number && *number <= INT64_MAX) continue;
    return complain(fmt::format("'{}' is not a number of bytes such as 4096, 64K, 8M, 1G", *word),
                    exit_usage);
  }
  if (*length == 0 || *length > length_max) {
    return complain(
        fmt::format("a request of {} bytes; permitted are 1 to {} (2 GiB)", *length, length_max),
        exit_usage);
  }
  const Descriptor file(open(wanted.file.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY));
  Result<ExplainedRequest> request = look_at(file, wanted, *offset, *length);
  if (!request) return complain(request.error().message);
  const Result<router::Loaded> profile = profile_of(file, wanted.file);
  if (!profile) return complain(profile.error().message);
  const Result<Answer> found = answer(profile.value().model, *schedule, request.value());
  if (!found) return complain(found.error().message);
  return print(context.json
                   ? as_json(request.value(), profile.value(), *schedule, found.value())
                             .dump(-1, ' ', false, ordered_json::error_handler_t::replace) +
                         "\n"
                   : explanation_text(request.value(), profile.value(), *schedule, found.value(),
                                      context.color));
}

}  // namespace k2k::cli
