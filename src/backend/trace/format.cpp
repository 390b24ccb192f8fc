#include "backend/trace/format.hpp"

#include <algorithm>
#include <array>
#include <cerrno>
#include <charconv>
#include <cmath>
#include <optional>
#include <string>

#include "protocol/slot.hpp"

namespace k2k::backend::trace {

namespace {

constexpr std::size_t fields_max = 6;  // One more than a line may have.
constexpr std::size_t quoted_max = 40;
constexpr std::string_view tenant_mark = "tenant=";
constexpr double tenant_last = protocol::tenants_max - 1;

struct Fields {
  std::array<std::string_view, fields_max> text;
  std::size_t count = 0;  // fields_max: that many or more.
};

Fields split(std::string_view line) {
  Fields fields;
  while (fields.count < fields_max) {
    const std::size_t begin = line.find_first_not_of(" \t");
    if (begin == std::string_view::npos) break;
    line.remove_prefix(begin);
    const std::size_t end = std::min(line.find_first_of(" \t"), line.size());
    fields.text[fields.count++] = line.substr(0, end);
    line.remove_prefix(end);
  }
  return fields;
}

// Text for a message: short, and without bytes that a terminal interprets.
std::string quoted(std::string_view text) {
  std::string safe = "'";
  for (const char each : text.substr(0, quoted_max)) {
    safe += each >= ' ' && each <= '~' ? each : '?';
  }
  return safe + (text.size() > quoted_max ? "...'" : "'");
}

std::string number_text(double value) {
  char text[32];
  const auto end = std::to_chars(text, text + sizeof text, value, std::chars_format::fixed).ptr;
  return {text, end};
}

// A decimal number from `least` to `most`, and nothing else.
std::optional<double> number_in(std::string_view text, double least, double most) {
  double value = 0;
  const char* const last = text.data() + text.size();
  const auto [end, error] = std::from_chars(text.data(), last, value, std::chars_format::fixed);
  const bool inside = value >= least && value <= most && !std::signbit(value);
  if (error != std::errc() || end != last || !inside) return {};
  return value;
}

std::string names() {
  std::string list;
  for (const OperationRow& row : operation_rows())
    list += (list.empty() ? "" : ", ") + std::string(row.name);
  return list;
}

std::string permitted(const OperationRow& row) {
  if (row.unit == Unit::none) return std::string(row.name) + " takes nothing";
  constexpr const char* units[] = {"", " bytes", " pages", " microseconds"};
  return std::string(row.name) + " takes " + number_text(row.least) + " to " +
         number_text(row.most) + units[static_cast<std::size_t>(row.unit)];
}

std::string no_tenant() {
  return " is no tenant; permitted are 0 to " + number_text(tenant_last) + ", such as tenant=3";
}

// Text, or nothing if the amount is fine.
std::optional<std::string> read_amount(const OperationRow& row, const Fields& fields,
                                       Event& event) {
  if (row.unit == Unit::none) {
    if (fields.count == 2) return {};
    return quoted(fields.text[2]) + " is too much; " + permitted(row);
  }
  if (fields.count < 3) return "the amount is missing; " + permitted(row);
  if (fields.count > 3) return quoted(fields.text[3]) + " is too much; " + permitted(row);
  const std::optional<double> value = number_in(fields.text[2], row.least, row.most);
  const bool whole = value && (row.unit == Unit::microseconds || std::floor(*value) == *value);
  if (!whole) return quoted(fields.text[2]) + " is no such amount; " + permitted(row);
  const double unit = row.unit == Unit::microseconds ? 1'000 : 1;
  event.amount = static_cast<std::uint64_t>(std::llround(*value * unit));
  return {};
}

// Removes the marks behind the amount from the fields, in any order.
std::optional<std::string> read_marks(Fields& fields, Event& event) {
  bool tenant = false;
  for (; fields.count > 2 && fields.count < fields_max; --fields.count) {
    const std::string_view mark = fields.text[fields.count - 1];
    const bool urgent = mark == "urgent";
    if (!urgent && !mark.starts_with(tenant_mark)) return {};
    if (urgent ? event.urgent : tenant) return quoted(mark) + " is said twice";
    if (urgent) {
      event.urgent = true;
      continue;
    }
    const std::optional<double> number = number_in(mark.substr(tenant_mark.size()), 0, tenant_last);
    if (!number || std::floor(*number) != *number) return quoted(mark) + no_tenant();
    tenant = true;
    event.tenant = static_cast<std::uint16_t>(*number);
  }
  return {};
}

std::optional<std::string> read_event(std::string_view line, Event& event) {
  Fields fields = split(line);
  std::string_view time = fields.text[0];
  event.since = time.starts_with('+') ? Since::answer : Since::begin;
  if (event.since == Since::answer) time.remove_prefix(1);
  const std::optional<double> us = number_in(time, 0, time_us_max);
  if (!us) {
    return quoted(fields.text[0]) + " is no time; a line begins with microseconds, 0 to " +
           number_text(time_us_max) + " since the begin, or such as +2.5 since the answer before";
  }
  event.after_ns = std::llround(*us * 1'000);
  if (fields.count < 2) return "a call is missing after the time; calls are " + names();
  const OperationRow* const row = find_operation(fields.text[1]);
  if (row == nullptr) return quoted(fields.text[1]) + " is no call; calls are " + names();
  event.operation = row->operation;
  if (auto wrong = read_marks(fields, event)) return wrong;
  return read_amount(*row, fields, event);
}

Error at_line(std::size_t line, const std::string& why) {
  return {EINVAL, "line " + std::to_string(line) + ": " + why};
}

}  // namespace

Result<std::vector<Event>> parse_trace(std::string_view text) {
  std::vector<Event> events;
  std::int64_t last_ns = 0;
  for (std::size_t number = 1; number == 1 || !text.empty(); ++number) {
    const std::size_t end = std::min(text.find('\n'), text.size());
    const std::string_view line = text.substr(0, end);
    text.remove_prefix(std::min(end + 1, text.size()));
    if (number == 1) {
      if (line == first_line) continue;
      return at_line(1, quoted(line) + " is not how a trace begins; the first line is '" +
                            std::string(first_line) + "'");
    }
    const std::size_t first = line.find_first_not_of(" \t");
    if (first == std::string_view::npos || line[first] == '#') continue;
    Event event;
    if (const auto wrong = read_event(line, event)) return at_line(number, *wrong);
    if (event.since == Since::begin) {
      if (event.after_ns < last_ns) {
        return at_line(number,
                       "its time is before the last one, " +
                           number_text(static_cast<double>(last_ns) / 1'000) +
                           "; times since the begin do not decrease: sort the lines by time");
      }
      last_ns = event.after_ns;
    }
    if (events.size() == events_max) {
      return at_line(number, "a trace has at most " + std::to_string(events_max) +
                                 " events; cut it into several");
    }
    events.push_back(event);
  }
  return events;
}

std::string text_of(std::span<const Event> events) {
  const auto us = [](auto ns) { return number_text(static_cast<double>(ns) / 1'000); };
  std::string text = std::string(first_line) + "\n";
  for (const Event& event : events) {
    const OperationRow& row = operation_rows()[static_cast<std::size_t>(event.operation)];
    if (event.since == Since::answer) text += '+';
    text += us(event.after_ns) + ' ' + std::string(row.name);
    if (row.unit == Unit::microseconds) text += ' ' + us(event.amount);
    if (row.unit == Unit::bytes || row.unit == Unit::pages) {
      text += ' ' + std::to_string(event.amount);
    }
    if (event.tenant != 0) text += ' ' + std::string(tenant_mark) + std::to_string(event.tenant);
    text += event.urgent ? " urgent\n" : "\n";
  }
  return text;
}

Status check_events(std::span<const Event> events) {
  const auto wrong = [](std::size_t place, const std::string& why) {
    return Error{EINVAL, "event " + std::to_string(place) + ": " + why};
  };
  if (events.size() > events_max) {
    return wrong(events_max, "a trace has at most " + std::to_string(events_max) +
                                 " events; cut it into several");
  }
  std::int64_t last_ns = 0;
  for (std::size_t place = 0; place < events.size(); ++place) {
    const Event& event = events[place];
    if (event.after_ns < 0 || static_cast<double>(event.after_ns) > time_us_max * 1e3) {
      return wrong(place, std::to_string(event.after_ns) + " ns is no time; permitted are 0 to " +
                              number_text(time_us_max * 1e3));
    }
    if (event.since == Since::begin) {
      if (event.after_ns < last_ns) {
        return wrong(place, "its time is before the last one, " + std::to_string(last_ns) +
                                " ns; times since the begin do not decrease: sort the events");
      }
      last_ns = event.after_ns;
    }
    if (event.tenant > tenant_last) return wrong(place, std::to_string(event.tenant) + no_tenant());
    const OperationRow& row = operation_rows()[static_cast<std::size_t>(event.operation)];
    const double unit = row.unit == Unit::microseconds ? 1e3 : 1;
    const auto amount = static_cast<double>(event.amount) / unit;
    if (row.unit == Unit::none ? event.amount == 0 : amount >= row.least && amount <= row.most) {
      continue;
    }
    return wrong(place, number_text(amount) + " is no such amount; " + permitted(row));
  }
  return {};
}

bool ListedEvents::uses(Operation operation) const {
  return std::any_of(events_.begin(), events_.end(),
                     [operation](const Event& event) { return event.operation == operation; });
}

}  // namespace k2k::backend::trace
