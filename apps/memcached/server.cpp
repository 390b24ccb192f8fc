#include "apps/memcached/server.hpp"

#include <arpa/inet.h>
#include <fmt/format.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstring>
#include <system_error>

#include "base/cores.hpp"
#include "base/signals_blocked.hpp"

namespace k2k::memcached {

namespace {

// Groups that wait for one socket are all tried when a datagram comes: more groups than clients
// cost more than they serve. A unit that serves its own calls receives the next datagram itself, so
// a second group has nothing to overlap, and each of its waits is a hand-over by k2k/wait.
constexpr std::uint32_t groups_per_unit = 2;
constexpr std::uint32_t groups_per_inline_unit = 1;
// A launch costs as much for many groups: they take what has come meanwhile.
constexpr std::uint32_t split_groups_per_unit = 4;
constexpr std::uint32_t items_default = 4;
constexpr std::uint32_t items_default_gpu = 256;  // Nearly all words of an element at once.
constexpr std::uint32_t groups_default_gpu = 16;  // A GPU has more units than there are clients.
constexpr int look_ms = 10;                       // Between two looks for the end.
constexpr int receive_bytes = 4 << 20;
constexpr timeval receive_limit{0, 1'000};  // Of By::direct, where a call holds its unit.

Error failed_at(const std::string& what) {
  return Error{errno, fmt::format("{}: {}", what, std::strerror(errno))};
}

sockaddr_in loopback(std::uint32_t port) {
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  address.sin_port = htons(static_cast<std::uint16_t>(port));
  return address;
}

bool is_readable(int socket) {
  pollfd watched{socket, POLLIN, 0};
  return ::poll(&watched, 1, look_ms) > 0;
}

}  // namespace

Result<std::unique_ptr<Server>> Server::start(const ServerOptions& options,
                                              const RuntimeConfig& config) {
  std::unique_ptr<Server> server(new Server(options));
  Status status = server->open_sockets();
  if (status.ok()) status = server->make_job(config);
  if (status.ok()) status = server->start_threads();
  if (!status) return status.error();
  return server;
}

Server::~Server() { static_cast<void>(stop()); }

Status Server::open_sockets() {
  socket_ = Descriptor(::socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0));
  if (!socket_.open()) return failed_at("no UDP socket");
  ::setsockopt(socket_.number(), SOL_SOCKET, SO_RCVBUF, &receive_bytes, sizeof(receive_bytes));
  if (options_.by == By::direct) {
    ::setsockopt(socket_.number(), SOL_SOCKET, SO_RCVTIMEO, &receive_limit, sizeof(receive_limit));
  }
  sockaddr_in address = loopback(options_.port);
  socklen_t length = sizeof(address);
  auto* const plain = reinterpret_cast<sockaddr*>(&address);
  if (::bind(socket_.number(), plain, length) != 0) {
    return failed_at(fmt::format("UDP port {} of 127.0.0.1", options_.port));
  }
  if (::getsockname(socket_.number(), plain, &length) != 0) return failed_at("no port");
  port_ = ntohs(address.sin_port);
  int ends[2];
  if (::socketpair(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0, ends) != 0) {
    return failed_at("no pair of sockets");
  }
  inner_from_ = Descriptor(ends[0]);
  inner_to_ = Descriptor(ends[1]);
  // Kernels make calls on these two; a descriptor of K2K's own is refused to them.
  set_own(socket_.number(), false);
  set_own(inner_from_.number(), false);
  return {};
}

Status Server::make_job(const RuntimeConfig& config) {
  const Store::Sizes sizes = Store::sizes_of(options_.buckets, options_.elements);
  job_.table.buckets = options_.buckets;
  job_.table.elements = options_.elements;
  void* placed[3] = {};
  const std::size_t wanted[3] = {sizes.versions, sizes.tags, sizes.entries};
  if (options_.by != By::threads) {
    auto runtime = Runtime::create(config);
    if (!runtime) return runtime.error();
    runtime_ = std::make_unique<Runtime>(std::move(runtime).value());
    blocks_ = std::make_unique<apps::DeviceBlocks>(*runtime_);
    const DeviceInfo& device = runtime_->device();
    // A call of libc that waits holds up the unit's other groups.
    const bool one_a_unit =
        options_.by == By::direct || config.server.bottom_half == server::BottomHalfMode::on_unit;
    shape_.groups = device.compute_units * (options_.by == By::relaunch ? split_groups_per_unit
                                            : one_a_unit                ? groups_per_inline_unit
                                                                        : groups_per_unit);
    const bool on_gpu = device.platform != "cpu";
    if (on_gpu && options_.by == By::kernel) {
      shape_.groups = std::min(shape_.groups, groups_default_gpu);
    }
    if (options_.groups != 0) shape_.groups = options_.groups;
    shape_.group_items = on_gpu ? items_default_gpu : items_default;
    if (options_.items != 0) shape_.group_items = options_.items;
    job_.copies = on_gpu;
  }
  for (int array = 0; array < 3; ++array) {
    if (options_.by == By::threads) {
      host_memory_[array].resize((wanted[array] + 7) / 8);
      placed[array] = host_memory_[array].data();
      continue;
    }
    const auto memory = blocks_->shared(wanted[array]);
    if (!memory) {
      return Error{ENOMEM, fmt::format("no memory for a table of {} MiB; lower --buckets or "
                                       "--elements",
                                       sizes.entries >> 20)};
    }
    placed[array] = *memory;
  }
  job_.table.versions = static_cast<std::uint64_t*>(placed[0]);
  job_.table.tags = static_cast<std::uint32_t*>(placed[1]);
  job_.table.entries = static_cast<Entry*>(placed[2]);
  store_ = std::make_unique<Store>(job_.table);
  if (options_.by == By::threads) return {};
  const auto seats = blocks_->shared(sizeof(Seat) * shape_.groups);
  const auto counters = blocks_->shared(sizeof(ServeCounters) * shape_.groups);
  const auto stop = blocks_->shared(sizeof(std::uint32_t));
  const auto steps = blocks_->on_device(sizeof(Step) * shape_.groups);
  const auto calls = blocks_->shared(sizeof(apps::SplitCall) * shape_.groups);
  for (const auto* const each : {&seats, &counters, &stop, &steps, &calls}) {
    if (!*each) return each->error();
  }
  job_.seats = static_cast<Seat*>(*seats);
  job_.counters = static_cast<ServeCounters*>(*counters);
  job_.stop = static_cast<std::uint32_t*>(*stop);
  job_.steps = static_cast<Step*>(*steps);  // Zeroed: Step::begin.
  job_.calls = static_cast<apps::SplitCall*>(*calls);
  std::fill_n(job_.calls, shape_.groups, apps::SplitCall());
  job_.socket = socket_.number();
  job_.inner_from = inner_from_.number();
  return {};
}

Status Server::start_threads() {
  const bool alone = options_.by == By::threads;
  const std::uint32_t threads = options_.threads != 0 ? options_.threads
                                : alone               ? usable_cores()
                                                      : 1;
  const SignalsBlocked blocked;
  try {
    for (std::uint32_t thread = 0; thread < threads; ++thread) {
      threads_.emplace_back([this] { serve_requests(); });
    }
    if (!alone) kernel_ = std::thread([this] { serve_kernel(); });
  } catch (const std::system_error& failure) {
    return Error{EAGAIN,
                 fmt::format("no thread to serve with ({}); raise ulimit -u", failure.what())};
  }
  return {};
}

void Server::serve_kernel() {
  if (options_.by != By::relaunch) {
    auto report = launch_serve(*runtime_, shape_,
                               options_.by == By::direct ? Pieces::direct : Pieces::whole, job_);
    if (!report) launched_ = report.error();
  } else {
    const auto launch = [&]() -> Status {
      // If no group received a datagram, the next piece waits for one.
      const bool idle = std::all_of(job_.calls, job_.calls + shape_.groups, [](const auto& call) {
        return call.number == SYS_recvfrom && call.result == -EAGAIN;
      });
      if (idle) is_readable(socket_.number());
      auto report = launch_serve(*runtime_, shape_, Pieces::split, job_);
      return report ? Status{} : report.error();
    };
    auto report = apps::split_launches(job_.calls, shape_.groups, usable_cores(), launch);
    if (!report) launched_ = report.error();
  }
  kernel_ended_.store(true, std::memory_order_release);  // Pairs with stop().
}

// From the inner socket with the client's address before the request, or from the clients'.
void Server::serve_requests() {
  const bool alone = options_.by == By::threads;
  const int from = alone ? socket_.number() : inner_to_.number();
  Seat seat{};
  while (!stopping_.load(std::memory_order_relaxed)) {
    if (!is_readable(from)) continue;
    ssize_t got = 0;
    if (alone) {
      socklen_t length = address_bytes;
      got = ::recvfrom(from, seat.request, sizeof(seat.request), MSG_DONTWAIT,
                       reinterpret_cast<sockaddr*>(seat.address), &length);
    } else {
      got = ::recv(from, seat.address, address_bytes + sizeof(seat.request), MSG_DONTWAIT) -
            static_cast<ssize_t>(address_bytes);
    }
    if (got < 0) continue;  // Another thread was faster.
    const Request request = parse(seat.request, static_cast<std::size_t>(got));
    if (request.kind == Kind::garbage) {
      thread_dropped_.fetch_add(1, std::memory_order_relaxed);
      continue;
    }
    if (request.kind == Kind::get) thread_gets_.fetch_add(1, std::memory_order_relaxed);
    const std::size_t bytes = store_->answer(request, seat.request, seat.answer);
    if (::sendto(socket_.number(), seat.answer, bytes, 0,
                 reinterpret_cast<const sockaddr*>(seat.address), address_bytes) < 0) {
      thread_unsent_.fetch_add(1, std::memory_order_relaxed);
    }
  }
}

// A datagram that is no request for each group.
void Server::wake_groups() const {
  const Descriptor waker(::socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0));
  const sockaddr_in address = loopback(port_);
  for (std::uint32_t group = 0; group < shape_.groups; ++group) {
    ::sendto(waker.number(), "", 1, MSG_DONTWAIT, reinterpret_cast<const sockaddr*>(&address),
             sizeof(address));
  }
}

Status Server::stop() {
  stopping_.store(true, std::memory_order_relaxed);
  if (kernel_.joinable()) {
    store_word(*job_.stop, std::uint32_t{1});  // Pairs with is_to_stop().
    while (!kernel_ended_.load(std::memory_order_acquire)) {
      wake_groups();
      std::this_thread::sleep_for(std::chrono::milliseconds(look_ms));
    }
    kernel_.join();
  }
  for (std::thread& thread : threads_) thread.join();
  threads_.clear();
  return launched_;
}

ServeCounters Server::counters() const {
  ServeCounters sum;
  sum.gets = thread_gets_.load(std::memory_order_relaxed);
  sum.dropped = thread_dropped_.load(std::memory_order_relaxed);
  sum.unsent = thread_unsent_.load(std::memory_order_relaxed);
  const std::uint32_t groups = options_.by == By::threads ? 0 : shape_.groups;
  for (std::uint32_t group = 0; group < groups; ++group) {
    const ServeCounters& each = job_.counters[group];
    sum.gets += load_word(each.gets);
    sum.forwarded += load_word(each.forwarded);
    sum.dropped += load_word(each.dropped);
    sum.unsent += load_word(each.unsent);
  }
  return sum;
}

}  // namespace k2k::memcached
