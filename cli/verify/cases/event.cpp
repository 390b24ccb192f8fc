// Waiting for descriptors, and notification.

#include <poll.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/inotify.h>
#include <sys/time.h>

#include <csignal>
#include <ctime>
#include <initializer_list>
#include <utility>

#include "cli/verify/case.hpp"
#include "cli/verify/cases/ignored.hpp"

namespace k2k::cli::verify {

namespace {

constexpr timespec at_once = {0, 0};
constexpr epoll_event given_event = {.events = EPOLLIN, .data = {.u64 = 78}};

// One pollfd for the counter of the sandbox.
Argument watched(short events) {
  Argument argument = structure(pollfd{0, events, 0});
  argument.parts.push_back({0, object(Object::event)});
  return argument;
}

// Several, each with its events.
Argument watched(std::initializer_list<std::pair<Object, short>> all) {
  Argument list = bytes("");
  for (const auto& [descriptor, events] : all) {
    list.parts.push_back({list.bytes.size(), object(descriptor)});
    list.bytes += bytes_of(pollfd{0, events, 0});
  }
  return list;
}
// None of them ever is.
Argument never_ready() {
  return watched({{Object::timer, POLLIN},
                  {Object::file, POLLPRI},
                  {Object::timer, POLLIN | POLLPRI},
                  {Object::notify, POLLIN}});
}

constexpr std::uint64_t standard_output = 1;  // A set with this descriptor.
constexpr std::uint64_t outputs = std::uint64_t{1} << standard_output;

// A mask of signals, and pselect6's pair of an address and a size.
Argument signal_mask() { return structure(std::uint64_t{1} << (SIGUSR1 - 1)); }
Argument mask_of(std::uint64_t bytes) { return vector_at(signal_mask(), bytes); }
Argument no_memory() { return {.kind = Argument::Kind::nowhere}; }

}  // namespace

std::vector<Case> event_cases() {
  return {
      {SYS_eventfd, "a counter", {number(5)}, Answer::descriptor},

      {SYS_poll, "a counter", {watched(POLLIN), number(1), number(0)}},
      {SYS_poll, "nothing", {null(), number(0), number(0)}},
      {SYS_poll, "what is no descriptor", {structure(pollfd{-5, POLLIN, 0}), number(1), number(0)}},
      {SYS_poll,
       "several, of which some are ready",
       {watched({{Object::empty_pipe, POLLIN},
                 {Object::event, POLLIN | POLLOUT},
                 {Object::pipe_in, POLLIN | POLLRDNORM},
                 {Object::event, POLLOUT},
                 {Object::file, POLLIN | POLLOUT}}),
        number(5), number(-1)}},
      {SYS_poll, "several for a time", {never_ready(), number(4), number(3)}},
      {SYS_poll, "nothing for a time", {null(), number(0), number(3)}},
      {SYS_epoll_create, "a set", {number(1)}, Answer::descriptor},
      {SYS_epoll_create, "of no size", {number(0)}},
      {SYS_epoll_wait, "a counter", {object(Object::epoll), space(24), number(2), number(0)}},
      {SYS_epoll_wait, "for nothing", {object(Object::epoll), space(24), number(0), number(0)}},
      {SYS_epoll_wait,
       "for less than nothing",
       {object(Object::epoll), space(24), number(-1), number(0)}},
      {SYS_epoll_wait, "of a file", {object(Object::file), space(24), number(2), number(0)}},
      {SYS_epoll_ctl,
       "one more",
       {object(Object::epoll), number(EPOLL_CTL_ADD), object(Object::pipe_in),
        structure(given_event)}},
      {SYS_epoll_ctl,
       "one again",
       {object(Object::epoll), number(EPOLL_CTL_ADD), object(Object::event),
        structure(given_event)}},
      {SYS_epoll_ctl,
       "one less",
       {object(Object::epoll), number(EPOLL_CTL_DEL), object(Object::event), null()}},
      {SYS_inotify_init, "an instance", {}, Answer::descriptor},
      {SYS_inotify_add_watch, "a file", {object(Object::notify), path("file"), number(IN_MODIFY)}},
      {SYS_inotify_add_watch, "for nothing", {object(Object::notify), path("file"), number(0)}},
      {SYS_inotify_add_watch,
       "by a pipe",
       {object(Object::pipe_in), path("file"), number(IN_MODIFY)}},
      {SYS_inotify_rm_watch, "no watch", {object(Object::notify), number(1)}},
      {SYS_ppoll,
       "a counter",
       {watched(POLLIN), number(1), structure(at_once), null(), number(0)},
       Answer::exact,
       {},
       false},  // Without a timeout it waits.
      {SYS_ppoll,
       "several for a time",  // Linux writes that none is left.
       {never_ready(), number(4), structure(timespec{0, 3'000'000}), null(), number(0)},
       Answer::exact,
       {},
       false},
      {SYS_ppoll,
       "with a mask",
       {watched(POLLOUT), number(1), structure(at_once), bytes(std::string(8, '\0')), number(8)},
       Answer::exact,
       {},
       false},
      {SYS_ppoll,
       "with a mask of a wrong size",
       {watched(POLLIN), number(1), structure(at_once), bytes(std::string(8, '\0')), number(4)},
       Answer::exact,
       {},
       false},
      {SYS_ppoll,
       "several for a time, with a mask",
       {never_ready(), number(4), structure(timespec{0, 3'000'000}), signal_mask(), number(8)},
       Answer::exact,
       {},
       false},
      {SYS_ppoll,
       "with a mask that cannot be read",
       {watched(POLLIN), number(1), structure(at_once), no_memory(), number(8)},
       Answer::exact,
       {},
       false},
      {SYS_ppoll,
       "with a mask that cannot be read, of a wrong size, and a wrong time",
       {watched(POLLIN), number(1), structure(timespec{0, -1}), no_memory(), number(4)},
       Answer::exact,
       {},
       false},
      {SYS_epoll_pwait,
       "with a mask of a wrong size",
       {object(Object::epoll), space(24), number(2), number(0), signal_mask(), number(4)}},
      {SYS_epoll_pwait,
       "for nothing, with a mask of a wrong size",
       {object(Object::epoll), space(24), number(0), number(0), signal_mask(), number(16)}},
      {SYS_epoll_pwait,
       "a counter",
       {object(Object::epoll), space(24), number(2), number(0), bytes(std::string(8, '\0')),
        number(8)}},
      {SYS_eventfd2,
       "a counter",
       {number(5), number(EFD_CLOEXEC | EFD_NONBLOCK)},
       Answer::descriptor},
      {SYS_eventfd2, "a wrong flag", {number(5), number(64)}},
      {SYS_epoll_create1, "a set", {number(EPOLL_CLOEXEC)}, Answer::descriptor},
      {SYS_epoll_create1, "a wrong flag", {number(64)}},
      {SYS_inotify_init1, "an instance", {number(IN_CLOEXEC)}, Answer::descriptor},
      {SYS_fanotify_init, "a wrong flag", {number(0x40000000), number(0)}},
      {SYS_fanotify_mark,
       "by what is no group",
       {object(Object::notify), number(1), number(2), object(Object::directory), text("file")}},
      {SYS_epoll_pwait2,
       "a counter",
       {object(Object::epoll), space(24), number(2), structure(at_once), null(), number(0)}},
      {SYS_epoll_pwait2,
       "a counter, with a mask",
       {object(Object::epoll), space(24), number(2), structure(at_once), signal_mask(), number(8)}},
      {SYS_epoll_pwait2,
       "with a mask of a wrong size, and a wrong time",
       {object(Object::epoll), space(24), number(2), structure(timespec{-1, 0}), signal_mask(),
        number(4)}},
      {SYS_select,
       "an output",
       {number(2), null(), structure(outputs), null(), structure(timeval{0, 0})}},
      {SYS_select,
       "nothing",
       {number(0), null(), null(), null(), structure(timeval{0, 1000})},
       Answer::exact,
       all_of(4, 16),
       false},  // Without a timeout it would wait.
      {SYS_select,
       "an error within its time",
       {number(64), null(), structure(std::uint64_t{1} << 63), null(), structure(timeval{60, 0})},
       Answer::exact,
       all_of(4, 16),
       false},
      {SYS_select, "of less than none", {number(-1), null(), structure(outputs), null(), null()}},
      {SYS_select,
       "with a wrong timeout",
       {number(2), null(), structure(outputs), null(), structure(timeval{-1, 0})},
       Answer::exact,
       {},
       false},  // Without a timeout it would wait.
      {SYS_pselect6,
       "an output",
       {number(2), structure(std::uint64_t{0}), structure(outputs), structure(std::uint64_t{0}),
        structure(timespec{0, 0}), mask_of(8)}},
      {SYS_pselect6,
       "with a mask of a wrong size",
       {number(2), null(), structure(outputs), null(), structure(timespec{0, 0}), mask_of(4)}},
      {SYS_pselect6,
       "nothing for a time, with a mask",
       {number(0), null(), null(), null(), structure(timespec{0, 1'000'000}), mask_of(8)},
       Answer::exact,
       {},
       false},  // Without a timeout it would wait.
      {SYS_pselect6,
       "with a mask that cannot be read",
       {number(2), null(), structure(outputs), null(), structure(timespec{0, 0}),
        vector_at(no_memory(), 8)}},
      {SYS_pselect6,
       "of less than none",
       {number(-1), null(), structure(outputs), null(), null(), null()}},
  };
}

}  // namespace k2k::cli::verify
