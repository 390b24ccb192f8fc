// Goal: no content of slots and rings harms the host. A hostile device writes arbitrary wave
// numbers, lane masks, lap bits, states, call numbers, pointers and sizes while a server serves it;
// the server neither crashes nor aborts, answers the requests of another wave correctly, and ends.
// Method: the input is a program of the device, one 16-byte operation after another, that this
// file executes while the threads of a real Server run. Row `honest_wave` is not the attacker's.
//
// The file defines libFuzzer's entry point; driver.cpp calls it where libFuzzer is not linked.
// Calls are real: the numbers are restricted to calls that touch only the objects of this file.

#include <asm/unistd.h>
#include <fcntl.h>
#include <sys/epoll.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <iterator>
#include <memory>
#include <thread>
#include <utility>

#include "base/clock.hpp"
#include "calls/rows.hpp"
#include "server/server.hpp"
#include "services/fake_backend_fixture.hpp"
#include "services/rules/call_rules.hpp"

namespace k2k::fuzz {
namespace {

using namespace std::chrono_literals;
using protocol::Slot;

constexpr std::uint32_t waves = 4;
constexpr std::uint32_t lanes = 8;
constexpr std::uint32_t rings = 2;
constexpr std::uint32_t ring_entries = 8;
constexpr std::uint32_t honest_wave = waves - 1;
constexpr std::size_t operations_max = 256;
// A machine with other work may serve this process late; a server that hangs never ends.
constexpr Nanoseconds patience = 60s;

// Descriptor 0 of a call may be an answer of another call: standard input and output are not ours
// to use.
void give_up_standard_streams() {
  static const bool once = [] {
    const int nothing = ::open("/dev/null", O_RDWR | O_CLOEXEC);
    return ::dup2(nothing, 0) == 0 && ::dup2(nothing, 1) == 1 && ::close(nothing) == 0;
  }();
  static_cast<void>(once);
}

[[noreturn]] void fail(const char* what) {
  std::fprintf(stderr, "slots_fuzz: %s\n", what);
  std::abort();
}
void expect(bool right, const char* otherwise) {
  if (!right) fail(otherwise);
}

// A device's memory: pages that the host may touch, and behind them a page that nobody may.
class Memory {
 public:
  static constexpr std::size_t page = 4096;
  static constexpr std::size_t pages = 16;

  Memory() {
    void* const mapped =
        ::mmap(nullptr, bytes() + page, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    expect(mapped != MAP_FAILED, "no memory");
    begin_ = static_cast<std::byte*>(mapped);
    expect(::mprotect(begin_, bytes(), PROT_READ | PROT_WRITE) == 0, "no access to memory");
    expect(::mprotect(begin_ + page, page, PROT_READ) == 0, "no read-only page");
  }
  static constexpr std::size_t bytes() { return page * pages; }
  [[nodiscard]] std::byte* begin() const { return begin_; }
  [[nodiscard]] std::uint64_t address(std::size_t offset) const {
    return reinterpret_cast<std::uint64_t>(begin_) + offset;
  }
  [[nodiscard]] bool has(std::uint64_t address, std::uint64_t count) const {
    const std::uint64_t first = this->address(0);
    return address >= first && address - first <= bytes() && count <= bytes() - (address - first);
  }

 private:
  std::byte* begin_ = nullptr;
};

const Memory& memory() {
  static const Memory only;  // Stays mapped for a call that outlives its server.
  return only;
}

class HostileDevice final : public services::FakeBackend {
 public:
  explicit HostileDevice(bool hides_memory) : FakeBackend({waves, lanes, rings, ring_entries, 1}) {
    facts.name = "fuzz";
    facts.hides_memory = hides_memory;
  }
  void wait_doorbell(const std::uint64_t*, Nanoseconds longest) override {
    std::this_thread::sleep_for(std::min<Nanoseconds>(longest, 100us));
  }
  bool host_may_access(const void* address, std::size_t bytes) const override {
    const auto first = reinterpret_cast<std::uint64_t>(address);
    return memory().has(first, bytes) || is_honest(first, bytes);
  }
  // Where the honest wave reads to.
  using Line = std::array<char, 32>;
  std::array<Line, lanes> honest{};

 private:
  [[nodiscard]] bool is_honest(std::uint64_t first, std::uint64_t bytes) const {
    return std::any_of(honest.begin(), honest.end(), [&](const Line& line) {
      return first == reinterpret_cast<std::uint64_t>(line.data()) && bytes <= line.size();
    });
  }
};

// Descriptors that every input finds anew, by their places.
class Objects {
 public:
  Objects() {
    expect(::pipe2(&numbers_[0], O_CLOEXEC) == 0, "no pipe");
    expect(::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, &numbers_[2]) == 0, "no sockets");
    numbers_[4] = ::memfd_create("k2k_fuzz", MFD_CLOEXEC);
    numbers_[5] = ::open("/dev/zero", O_RDWR | O_CLOEXEC);
    expect(numbers_[4] >= 0 && numbers_[5] >= 0, "no file");
    numbers_[6] = ::epoll_create1(EPOLL_CLOEXEC);
    epoll_event readable{.events = EPOLLIN, .data = {}};
    expect(::epoll_ctl(numbers_[6], EPOLL_CTL_ADD, numbers_[0], &readable) == 0, "no set");
    numbers_[7] = 1'000'000;
    sealed_ = ::memfd_create("k2k_fuzz_sealed", MFD_CLOEXEC | MFD_ALLOW_SEALING);
    expect(::write(sealed_, text, sizeof(text)) == sizeof(text), "no data");
    expect(::fcntl(sealed_, F_ADD_SEALS, F_SEAL_WRITE | F_SEAL_GROW | F_SEAL_SHRINK) == 0,
           "no seal");
  }
  ~Objects() {
    for (std::size_t place = 0; place < 7; ++place) ::close(numbers_[place]);
    ::close(sealed_);
  }
  Objects(const Objects&) = delete;
  Objects& operator=(const Objects&) = delete;
  [[nodiscard]] int at(std::uint64_t place) const { return numbers_[place % numbers_.size()]; }
  // A file with `text` that nobody can change.
  [[nodiscard]] int sealed() const { return sealed_; }

  static constexpr char text[] = "the bytes of a file";

 private:
  std::array<int, 8> numbers_{};
  int sealed_ = -1;
};

// Harmless with any of the arguments that argument_of() makes.
constexpr std::uint16_t calls_made[] = {
    calls::nop_number, __NR_getppid,    __NR_pread64,    __NR_pwrite64,      __NR_read,
    __NR_write,        __NR_readv,      __NR_writev,     __NR_preadv,        __NR_pwritev,
    __NR_lseek,        __NR_fstat,      __NR_sendto,     __NR_recvfrom,      __NR_nanosleep,
    __NR_poll,         __NR_uname,      __NR_sysinfo,    __NR_clock_gettime, __NR_getrandom,
    __NR_getcwd,       __NR_getpid,     __NR_sendmsg,    __NR_recvmsg,       calls::fault_in_number,
    __NR_accept4,      __NR_getsockopt, __NR_fsync,      __NR_gettimeofday,  __NR_ppoll,
    __NR_select,       __NR_pselect6,   __NR_epoll_wait, __NR_epoll_pwait,   __NR_epoll_pwait2,
    __NR_epoll_ctl,    __NR_futex,      __NR_connect,
};
// Never made, whatever the policy: no such call, or every policy refuses it.
constexpr std::uint16_t calls_refused[] = {
    1023,
    1024,
    0x7fff,
    0xfffe,
    0xfffc,
    __NR_execve,
    __NR_exit_group,
    __NR_fork,
    __NR_ptrace,
    __NR_io_uring_setup,
    __NR_kill,
    __NR_wait4,
    __NR_rt_sigreturn,
    __NR_io_uring_enter,
};

// One operation of the device.
struct Operation {
  std::uint8_t kind;
  std::uint8_t wave;
  std::uint8_t lane;
  std::uint8_t how;
  std::uint32_t extra;
  std::uint64_t value;
};
static_assert(sizeof(Operation) == 16);

// The header of an input: how it is served.
struct Header {
  std::uint8_t server;
  std::uint8_t policy;
  std::uint8_t memory;
  std::uint8_t unused;
};

server::ServerConfig config_of(const Header& header) {
  server::ServerConfig config;
  config.top_halves = 1 + (header.server & 1);
  config.bottom_half =
      (header.server & 2) != 0 ? server::BottomHalfMode::split : server::BottomHalfMode::monolithic;
  if ((header.server & 64) != 0) config.bottom_half = server::BottomHalfMode::staged;
  config.coalesce_window_us = (header.server & 4) != 0 ? 50 : 0;
  config.coalesce_max = (header.server & 8) != 0 ? 3 : 64;
  config.threads_max = 6;
  config.spin_us = 0;
  config.sleep_us = 100;
  config.rescan_us = 100;
  config.takeover_us = 100;
  config.shutdown_ms = 5;
  config.trace = (header.server & 16) != 0;
  if ((header.server & 32) != 0) {
    config.cap_permille = 900;
    config.tenants = "1:weight=3 2:rate=100000";
  }
  config.policy = (header.policy & 1) != 0 ? server::CallPolicy::file : server::CallPolicy::any;
  return config;
}

// Under rules every number may come: those that are not listed are refused.
std::shared_ptr<services::CallRules> rules_of(const server::ServerConfig& config) {
  if (config.policy != server::CallPolicy::file) return {};
  services::WantedRules wanted{.otherwise = services::WantedRules::Otherwise::none};
  wanted.allowed.push_back(__NR_open);  // Confined to roots, of which there are none.
  for (const std::uint16_t number : calls_made) {
    if (number < services::call_number_end) wanted.allowed.push_back(number);
  }
  wanted.roots.emplace();
  wanted.audit_file = "/dev/null";
  auto rules = services::CallRules::create(wanted);
  expect(rules.ok(), "no rules");
  return std::move(rules).value();
}

class Attack {
 public:
  explicit Attack(const Header& header)
      : config_(config_of(header)), device_((header.memory & 1) != 0) {
    auto server = server::Server::start(device_, config_, {.rules = rules_of(config_)});
    expect(server.ok(), "the server does not start");
    for (std::uint32_t lane = 0; lane < lanes; ++lane)
      area().slot(honest_wave, lane).generation = lane;
    server_ = std::move(server).value();
  }

  void run(const Operation& operation) {
    const std::uint32_t wave = operation.wave % honest_wave;
    Slot& slot = area().slot(wave, operation.lane % lanes);
    switch (operation.kind % 12) {
      case 0:
        return put(slot.control, control_of(operation));
      case 1:
        return put(slot.attributes, static_cast<std::uint32_t>(operation.value));
      case 2:
        put(slot.generation, static_cast<std::uint32_t>(operation.value >> 32));
        return put(slot.stamp, static_cast<std::uint32_t>(operation.value));
      case 3:
        return put(slot.arguments[operation.extra % protocol::argument_count],
                   argument_of(operation));
      case 4:
        return scribble_ring(operation);
      case 5:
        return scribble_tail(operation);
      case 6:
        return protocol::ring(ring(operation), protocol::take_ticket(ring(operation)),
                              operation.extra, operation.value);
      case 7:
        put(slot.control, ready(operation));
        return protocol::ring(ring(operation), protocol::take_ticket(ring(operation)), wave,
                              operation.value);
      case 8:
        return flicker(slot.control, ready(operation), control_of(operation));
      case 9:
        return flicker(slot.arguments[operation.extra % protocol::argument_count],
                       argument_of(operation), operation.value | wild);
      case 10:
        return fill_memory(operation);
      default:
        std::this_thread::sleep_for(std::chrono::microseconds(operation.value % 200));
        if (operation.how % 4 == 0) honest_call();
        return;
    }
  }

  // Each work-item of the honest wave gets its own answer: some ask for a number, some read.
  void honest_call() {
    std::uint64_t rung = 0;
    for (std::uint32_t lane = 0; lane < lanes; ++lane) {
      Slot& slot = area().slot(honest_wave, lane);
      expect(slot.control == 0 && slot.generation == lane,
             "the host wrote to a slot without request");
      device_.honest[lane].fill('-');
      slot.arguments[0] = static_cast<std::uint64_t>(objects_.sealed());
      slot.arguments[1] = reinterpret_cast<std::uint64_t>(device_.honest[lane].data());
      slot.arguments[2] = device_.honest[lane].size();
      slot.arguments[3] = 0;
      rung |= std::uint64_t{1} << lane;
      put(slot.control,
          protocol::pack(protocol::Control{protocol::SlotState::ready, {}, honest_number(lane)}));
    }
    const protocol::DoorbellRing& ring = area().ring_of(honest_wave);
    protocol::ring(ring, protocol::take_ticket(ring), honest_wave, rung);
    for (std::uint32_t lane = 0; lane < lanes; ++lane) expect_answer(lane);
  }

  // The server ends, whatever the slots say.
  void end() {
    honest_call();
    static_cast<void>(server_->stats());
    const Instant begun = now();
    server_.reset();
    expect(now() - begun < patience, "the server does not end");
  }

 private:
  // No address of a program, no descriptor.
  static constexpr std::uint64_t wild = std::uint64_t{1} << 63 | std::uint64_t{1} << 31;

  const protocol::AreaView& area() { return device_.area(); }
  const protocol::DoorbellRing& ring(const Operation& operation) {
    return area().rings[operation.how % rings];
  }
  template <class Word>
  static void put(Word& word, Word value) {
    protocol::store_release(&word, value);
  }
  // The word changes while the host may be reading it.
  template <class Word>
  static void flicker(Word& word, Word one, Word other) {
    for (int time = 0; time < 100; ++time) {
      put(word, one);
      put(word, other);
    }
    put(word, one);
  }

  std::uint16_t number_of(const Operation& operation) const {
    if (operation.how % 4 == 3) {
      const auto number = static_cast<std::uint16_t>(operation.value);
      if (config_.policy == server::CallPolicy::file) return number;
      return calls_refused[number % std::size(calls_refused)];
    }
    return calls_made[operation.extra % std::size(calls_made)];
  }
  std::uint32_t ready(const Operation& operation) const {
    return protocol::pack(protocol::Control{protocol::SlotState::ready, {}, number_of(operation)});
  }
  // Any state, also one that does not exist, and any transport error.
  std::uint32_t control_of(const Operation& operation) const {
    const auto states = static_cast<std::uint32_t>(operation.value >> 16 & 0xffff);
    return (ready(operation) & 0xffff0000u) | states;
  }
  // Descriptors, addresses and sizes at the edges; never an address that maps this program.
  std::uint64_t argument_of(const Operation& operation) const {
    const std::uint64_t value = operation.value;
    constexpr std::uint64_t sizes[] = {0,          1,          8,
                                       16,         4095,       Memory::page,
                                       65'535,     1ull << 31, (1ull << 31) - 4096,
                                       1ull << 32, 1ull << 62, ~0ull >> 1,
                                       1ull << 63, ~0ull,      ~0ull - 4095,
                                       1025};
    switch (operation.how % 8) {
      case 0:
        return static_cast<std::uint64_t>(objects_.at(value));
      case 1:
        return memory().address(value % Memory::bytes());
      case 2:
        return memory().address(Memory::bytes() - value % 64);  // Into the page that is nobody's.
      case 3:
        return sizes[value % std::size(sizes)];
      case 4:
        return value % 4096;
      case 5:
        return value | wild;
      case 6:
        return memory().address(Memory::page) + value % Memory::page;  // Read-only.
      default:
        return memory().address(value % Memory::pages * Memory::page);
    }
  }

  void scribble_ring(const Operation& operation) {
    protocol::DoorbellEntry& entry = ring(operation).entries[operation.lane % ring_entries];
    protocol::store_hint(&entry.lanes, operation.value);
    // The lap is near the expected one, or anything.
    const std::uint64_t lap = operation.extra >> 16 & 0xff;
    const std::uint64_t far = operation.extra << 8;
    const std::uint64_t wave = operation.extra & 0xff;
    put(entry.head, (operation.how & 0x80) != 0
                        ? static_cast<std::uint64_t>(operation.extra) << 32 | far
                        : lap % 8 << 32 | wave);
  }
  void scribble_tail(const Operation& operation) {
    const protocol::DoorbellRing& of = ring(operation);
    const std::uint64_t place =
        (operation.how & 0x80) != 0 ? operation.value : operation.value % 64;
    if ((operation.how & 0x40) != 0) return protocol::store_release(of.consumed, place);
    protocol::device_store(of.tail, place);
  }
  // Vectors, messages and times that calls read from the device's memory.
  void fill_memory(const Operation& operation) {
    const std::size_t word = operation.extra % (Memory::page / sizeof(std::uint64_t));
    const std::uint64_t value = argument_of(operation);
    std::memcpy(memory().begin() + word * sizeof(value), &value, sizeof(value));
  }

  static constexpr std::uint16_t honest_number(std::uint32_t lane) {
    return lane % 2 == 0 ? __NR_getppid : __NR_pread64;
  }
  void expect_answer(std::uint32_t lane) {
    Slot& slot = area().slot(honest_wave, lane);
    const Instant end = now() + patience;
    while (protocol::observe(slot).state != protocol::SlotState::finished) {
      expect(now() < end, "an honest request gets no answer");
      std::this_thread::sleep_for(20us);
    }
    const protocol::Control control = protocol::observe(slot);
    expect(control.error == protocol::TransportError::none && control.number == honest_number(lane),
           "an honest request gets the answer of another request");
    const auto value = static_cast<std::int64_t>(slot.arguments[protocol::answer_word::value]);
    const bool reads = control.number == __NR_pread64;
    expect(value == (reads ? static_cast<std::int64_t>(sizeof(Objects::text)) : ::getppid()),
           "an honest request gets a wrong answer");
    const std::array<char, 32>& line = device_.honest[lane];
    expect(!reads || (std::equal(std::begin(Objects::text), std::end(Objects::text), line.data()) &&
                      line[sizeof(Objects::text)] == '-'),
           "an honest request reads wrong bytes");
    put(slot.control, protocol::pack(protocol::Control{}));
  }

  const server::ServerConfig config_;
  Objects objects_;
  HostileDevice device_;
  std::unique_ptr<server::Server> server_;
};

}  // namespace
}  // namespace k2k::fuzz

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace k2k::fuzz;
  Header header{};
  if (size < sizeof(header)) return 0;
  give_up_standard_streams();
  std::memcpy(&header, data, sizeof(header));
  Attack attack(header);
  const std::size_t count = std::min(operations_max, (size - sizeof(header)) / sizeof(Operation));
  for (std::size_t at = 0; at < count; ++at) {
    Operation operation{};
    std::memcpy(&operation, data + sizeof(header) + at * sizeof(operation), sizeof(operation));
    attack.run(operation);
  }
  attack.end();
  return 0;
}
