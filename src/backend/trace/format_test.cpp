// Goal: every part of a trace has its documented meaning, any other text is an error that names the
// line, and no bytes do harm.

#include "backend/trace/format.hpp"

#include <gtest/gtest.h>

#include <random>
#include <string>

namespace k2k::backend::trace {
namespace {

std::string with_head(const std::string& lines) { return std::string(first_line) + "\n" + lines; }

void expect_refused(const std::string& text, const std::string& message) {
  const auto events = parse_trace(text);
  ASSERT_FALSE(events.ok()) << text;
  EXPECT_EQ(events.error().code, EINVAL);
  EXPECT_EQ(events.error().message, message);
}

TEST(TraceFormat, gives_the_time_and_the_call_of_each_event) {
  const auto parsed = parse_trace(
      with_head("# a remark\n\n0 nop\n\t12.5  pread\t4096 \n+0.25 cost 3.5\n12.5 getpid\n"
                "  # another\n+7 fault 65536\n1e3 nop\n"));
  EXPECT_FALSE(parsed.ok()) << "exponents are no decimal numbers";
  const auto good = parse_trace(
      with_head("# a remark\n\n0 nop\n\t12.5  pread\t4096 \n+0.25 cost 3.5\n12.5 getpid\n"
                "  # another\n+7 fault 65536\n99.001 nanosleep 0.5"));
  ASSERT_TRUE(good.ok()) << good.error().message;
  const std::vector<Event>& events = good.value();
  const std::vector<Event> right = {{Since::begin, Operation::nop, 0, 0},
                                    {Since::begin, Operation::pread, 12'500, 4096},
                                    {Since::answer, Operation::cost, 250, 3'500},
                                    {Since::begin, Operation::getpid, 12'500, 0},
                                    {Since::answer, Operation::fault, 7'000, 65'536},
                                    {Since::begin, Operation::nanosleep, 99'001, 500}};
  ASSERT_EQ(events.size(), right.size());
  for (std::size_t index = 0; index < right.size(); ++index) {
    EXPECT_EQ(events[index].since, right[index].since) << index;
    EXPECT_EQ(events[index].operation, right[index].operation) << index;
    EXPECT_EQ(events[index].after_ns, right[index].after_ns) << index;
    EXPECT_EQ(events[index].amount, right[index].amount) << index;
  }
}

TEST(TraceFormat, gives_the_tenant_and_the_urgency_of_each_event) {
  const auto parsed = parse_trace(
      with_head("0 nop tenant=3\n1 pread 64 urgent tenant=63\n+2 getpid urgent\n3 cost 1"));
  ASSERT_TRUE(parsed.ok()) << parsed.error().message;
  const std::vector<Event>& events = parsed.value();
  ASSERT_EQ(events.size(), 4u);
  EXPECT_EQ(events[0].tenant, 3u);
  EXPECT_FALSE(events[0].urgent);
  EXPECT_EQ(events[1].tenant, 63u);
  EXPECT_TRUE(events[1].urgent);
  EXPECT_EQ(events[1].amount, 64u);
  EXPECT_TRUE(events[2].urgent);
  EXPECT_EQ(events[3].tenant, 0u);
  const std::string tenants = " is no tenant; permitted are 0 to 63, such as tenant=3";
  expect_refused(with_head("0 nop tenant=64"), "line 2: 'tenant=64'" + tenants);
  expect_refused(with_head("0 nop tenant=1.5"), "line 2: 'tenant=1.5'" + tenants);
  expect_refused(with_head("0 nop tenant="), "line 2: 'tenant='" + tenants);
  expect_refused(with_head("0 nop urgent urgent"), "line 2: 'urgent' is said twice");
  expect_refused(with_head("0 nop tenant=1 tenant=1"), "line 2: 'tenant=1' is said twice");
  expect_refused(with_head("0 urgent nop"),
                 "line 2: 'urgent' is no call; calls are nop, getpid, clock_gettime, nanosleep, "
                 "pread, pwrite, fault, cost, release, move_pages, signal");
  expect_refused(with_head("0 pread urgent"),
                 "line 2: the amount is missing; pread takes 0 to 131072 bytes");
}

TEST(TraceFormat, writes_events_that_it_reads_back) {
  const std::string text = with_head(
      "0 nop\n12.5 pread 4096 tenant=63 urgent\n+0.25 cost 3.5\n+7 fault 65536\n"
      "+0 release 131072\n+1000.001 move_pages 31\n99.001 signal tenant=1\n+0 getpid urgent\n");
  const auto events = parse_trace(text);
  ASSERT_TRUE(events.ok()) << events.error().message;
  EXPECT_EQ(text_of(events.value()), text);
  EXPECT_EQ(text_of({}), with_head(""));
}

TEST(TraceFormat, may_be_empty) {
  EXPECT_TRUE(parse_trace(first_line)->empty());
  EXPECT_TRUE(parse_trace(with_head(""))->empty());
  EXPECT_TRUE(parse_trace(with_head("\n\n# nothing\n"))->empty());
}

TEST(TraceFormat, finds_every_call_by_its_name) {
  for (const OperationRow& row : operation_rows()) {
    EXPECT_EQ(find_operation(row.name), &row);
    EXPECT_EQ(name_of(row.operation), row.name);
    const std::string amount = row.unit == Unit::none ? "" : " 1";
    const auto events = parse_trace(with_head("0 " + std::string(row.name) + amount));
    ASSERT_TRUE(events.ok()) << events.error().message;
    EXPECT_EQ(events.value().at(0).operation, row.operation);
  }
  EXPECT_EQ(find_operation("prea"), nullptr);
  EXPECT_EQ(find_operation(""), nullptr);
}

TEST(TraceFormat, refuses_malformed_lines_by_their_number) {
  const std::string calls =
      "nop, getpid, clock_gettime, nanosleep, pread, pwrite, fault, cost, release, move_pages, "
      "signal";
  const std::string times =
      " is no time; a line begins with microseconds, 0 to 3600000000 since the begin, or such as "
      "+2.5 since the answer before";
  expect_refused("", "line 1: '' is not how a trace begins; the first line is '# k2k trace 1'");
  expect_refused("# k2k trace 2\n",
                 "line 1: '# k2k trace 2' is not how a trace begins; the first line is '# k2k "
                 "trace 1'");
  expect_refused(with_head("0 nop\nsoon nop\n"), "line 3: 'soon'" + times);
  expect_refused(with_head("-1 nop"), "line 2: '-1'" + times);
  expect_refused(with_head("-0 nop"), "line 2: '-0'" + times);
  expect_refused(with_head("+-1 nop"), "line 2: '+-1'" + times);
  expect_refused(with_head("inf nop"), "line 2: 'inf'" + times);
  expect_refused(with_head("nan nop"), "line 2: 'nan'" + times);
  expect_refused(with_head("3600000001 nop"), "line 2: '3600000001'" + times);
  expect_refused(with_head("+ nop"), "line 2: '+'" + times);
  expect_refused(with_head("5"), "line 2: a call is missing after the time; calls are " + calls);
  expect_refused(with_head("5 preed 3"), "line 2: 'preed' is no call; calls are " + calls);
  expect_refused(with_head("5 nop 3"), "line 2: '3' is too much; nop takes nothing");
  expect_refused(with_head("5 pread"),
                 "line 2: the amount is missing; pread takes 0 to 131072 bytes");
  expect_refused(with_head("5 pread 131073"),
                 "line 2: '131073' is no such amount; pread takes 0 to 131072 bytes");
  expect_refused(with_head("5 pread 1.5"),
                 "line 2: '1.5' is no such amount; pread takes 0 to 131072 bytes");
  expect_refused(with_head("5 move_pages 32"),
                 "line 2: '32' is no such amount; move_pages takes 1 to 31 pages");
  expect_refused(with_head("5 move_pages 1.5"),
                 "line 2: '1.5' is no such amount; move_pages takes 1 to 31 pages");
  expect_refused(with_head("5 fault 0"),
                 "line 2: '0' is no such amount; fault takes 1 to 131072 bytes");
  expect_refused(with_head("5 cost 1us"),
                 "line 2: '1us' is no such amount; cost takes 0 to 10000 microseconds");
  expect_refused(with_head("5 cost 1 2 3 4"),
                 "line 2: '2' is too much; cost takes 0 to 10000 microseconds");
  expect_refused(with_head("\n5 nop\n+1 nop\n4.5 nop"),
                 "line 5: its time is before the last one, 5; times since the begin do not "
                 "decrease: sort the lines by time");
}

TEST(TraceFormat, quotes_refused_text_short_and_without_control_characters) {
  const std::string strange = "\x1b[31m" + std::string(100, 'x');
  const auto events = parse_trace(with_head("0 " + strange));
  ASSERT_FALSE(events.ok());
  EXPECT_NE(events.error().message.find("'?[31m" + std::string(35, 'x') + "...'"),
            std::string::npos)
      << events.error().message;
}

// Random bytes, and traces with a few changed bytes: the parser accepts or refuses them, and reads
// nothing out of bounds (the address sanitizer's build checks that).
TEST(TraceFormat, survives_any_bytes) {
  std::mt19937 random(7);
  const auto below = [&random](std::size_t bound) { return random() % bound; };
  const std::string good = with_head(
      "0 nop urgent\n12.5 pread 4096 tenant=7\n+0.25 cost 3.5\n13 getpid\n+7 fault 65536\n99 "
      "nanosleep 1\n");
  const std::string likely = " \t\n+-.0123456789eE#nop fault";
  std::size_t parsed = 0;
  for (int round = 0; round < 20'000; ++round) {
    std::string text = good;
    if (round % 4 == 0) {
      text = round % 8 == 0 ? "" : with_head("");
      const std::size_t length = below(80);
      for (std::size_t index = 0; index < length; ++index) {
        text += static_cast<char>(below(2) == 0 ? random() : likely[below(likely.size())]);
      }
    } else {
      for (std::size_t change = below(4); change != 0; --change) {
        const std::size_t where = below(text.size());
        switch (below(3)) {
          case 0:
            text[where] = static_cast<char>(random());
            break;
          case 1:
            text.insert(where, 1, likely[below(likely.size())]);
            break;
          default:
            text.erase(where, 1 + below(8));
        }
        if (text.empty()) break;
      }
    }
    // Not a string: nothing after the last byte may be read.
    const std::vector<char> exact(text.begin(), text.end());
    const auto events = parse_trace({exact.data(), exact.size()});
    if (!events) {
      EXPECT_TRUE(events.error().message.starts_with("line ")) << events.error().message;
      continue;
    }
    ++parsed;
    for (const Event& event : events.value()) {
      EXPECT_GE(event.after_ns, 0);
      EXPECT_LE(event.amount, 1'000'000'000u);
    }
  }
  EXPECT_GT(parsed, 1'000u);
  EXPECT_LT(parsed, 19'000u);
}

TEST(TraceFormat, gives_one_event_at_a_time) {
  const auto events = parse_trace(with_head("0 nop\n1 pread 5\n"));
  ASSERT_TRUE(events.ok());
  ListedEvents source(events.value());
  EXPECT_FALSE(source.endless());
  EXPECT_TRUE(source.uses(Operation::pread));
  EXPECT_FALSE(source.uses(Operation::cost));
  Event event;
  ASSERT_TRUE(source.next(event));
  EXPECT_EQ(event.operation, Operation::nop);
  ASSERT_TRUE(source.next(event));
  EXPECT_EQ(event.amount, 5u);
  EXPECT_FALSE(source.next(event));
  EXPECT_FALSE(source.next(event));
}

TEST(TraceEvents, have_the_limits_of_the_text) {
  EXPECT_TRUE(check_events({}).ok());
  for (const OperationRow& row : operation_rows()) {
    const double unit = row.unit == Unit::microseconds ? 1e3 : 1;
    for (const double amount : {row.least, row.most}) {
      const Event event{Since::answer, row.operation, 5, static_cast<std::uint64_t>(amount * unit)};
      const Status status = check_events({&event, 1});
      EXPECT_TRUE(status.ok()) << status.error().message;
    }
  }
}

TEST(TraceEvents, are_refused_with_their_index) {
  const auto refusal = [](Event event) {
    const Event events[] = {{Since::begin, Operation::nop, 2'000, 0}, event};
    const Status status = check_events(events);
    EXPECT_EQ(status.ok() ? 0 : status.error().code, EINVAL);
    return status.ok() ? "" : status.error().message;
  };
  EXPECT_EQ(refusal({Since::begin, Operation::nop, 1'999, 0}),
            "event 1: its time is before the last one, 2000 ns; times since the begin do not "
            "decrease: sort the events");
  EXPECT_EQ(refusal({Since::answer, Operation::nop, -1, 0}),
            "event 1: -1 ns is no time; permitted are 0 to 3600000000000");
  EXPECT_EQ(refusal({Since::answer, Operation::nop, 0, 7}),
            "event 1: 7 is no such amount; nop takes nothing");
  EXPECT_EQ(refusal({Since::answer, Operation::pread, 0, item_bytes + 1}),
            "event 1: 131073 is no such amount; pread takes 0 to 131072 bytes");
  EXPECT_EQ(refusal({Since::answer, Operation::nop, 0, 0, 64}),
            "event 1: 64 is no tenant; permitted are 0 to 63, such as tenant=3");
  EXPECT_EQ(refusal({Since::answer, Operation::cost, 0, 10'000'001}),
            "event 1: 10000.001 is no such amount; cost takes 0 to 10000 microseconds");
}

}  // namespace
}  // namespace k2k::backend::trace
