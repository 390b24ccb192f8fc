// The peer: LLVM libc's GPU RPC, client and server on two CPU threads, measured in the same way as
// K2K (bench/command/round_trip.cpp, throughput.cpp).
//
//   llvm_rpc_peer      one JSON object:
//     floor_us         round trip of one cache line between the two threads
//     p50_us           of a no-op by one lane, by the number of ports
//     single_mcalls    no-ops of single lanes, sixteen in flight
//     wave_mcalls      no-ops of whole waves of 32, four in flight: one word per wave travels
//     wave_data_mcalls the same, with six arguments to the server and a result back for each lane
//
// The benchmark run builds it from the headers of Debian's source package of LLVM
// (tools/devtool/peers.py); this repository contains nothing of LLVM.

#include <pthread.h>
#include <sched.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <new>
#include <thread>
#include <vector>

#include "src/__support/RPC/rpc.h"

namespace {

namespace rpc = LIBC_NAMESPACE_DECL::rpc;
namespace gpu = LIBC_NAMESPACE_DECL::gpu;
using Clock = std::chrono::steady_clock;

constexpr std::uint16_t noop = 1;
constexpr std::uint16_t call = 2;
constexpr std::uint32_t wave_lanes = 32;
constexpr int rounds = 7;

double seconds_since(Clock::time_point begin) {
  return std::chrono::duration<double>(Clock::now() - begin).count();
}

double median(std::vector<double> samples) {
  std::nth_element(samples.begin(),
                   samples.begin() + static_cast<std::ptrdiff_t>(samples.size()) / 2,
                   samples.end());
  return samples[samples.size() / 2];
}

// A spinning server on a thread of its own.
class Peer {
 public:
  Peer(std::uint32_t ports, std::uint32_t lanes)
      : memory_(std::aligned_alloc(4096, size_of(ports, lanes))),
        client_(zeroed(ports, lanes)),
        server_(ports, memory_),
        thread_([this, lanes] { serve(lanes); }) {}
  Peer(const Peer&) = delete;
  Peer& operator=(const Peer&) = delete;
  ~Peer() {
    stop_.store(true);
    thread_.join();
    std::free(memory_);
  }

  rpc::Client& client() { return client_; }

 private:
  static std::size_t size_of(std::uint32_t ports, std::uint32_t lanes) {
    return (rpc::Server::allocation_size(lanes, ports) + 4095) / 4096 * 4096;
  }
  rpc::Client zeroed(std::uint32_t ports, std::uint32_t lanes) {
    if (memory_ == nullptr) std::abort();
    std::fill_n(static_cast<char*>(memory_), size_of(ports, lanes), '\0');
    return rpc::Client(ports, memory_);
  }

  void serve(std::uint32_t lanes) {
    std::uint32_t first = 0;
    while (!stop_.load(std::memory_order_relaxed)) {
      auto port = server_.try_open(lanes, first);
      first = 0;
      if (!port) continue;
      first = port->get_index() + 1u;  // As LLVM's server: continues behind this port, so that no
                                       // port starves.
      if (port->get_opcode() == noop) {
        port->recv_and_send([](rpc::Buffer*) {});
      } else {
        port->recv_and_send([](rpc::Buffer* buffer) {
          std::uint64_t sum = 0;
          for (int word = 0; word < 6; ++word) sum += buffer->data[word];
          buffer->data[0] = sum;
        });
      }
      port->close();
    }
  }

  void* memory_;
  rpc::Client client_;
  rpc::Server server_;
  std::atomic<bool> stop_{false};
  std::thread thread_;
};

// One call of a wave in flight.
class Flight {
 public:
  template <std::uint16_t opcode>
  void begin(rpc::Client& client, std::uint32_t lanes) {
    gpu::step = lanes;
    gpu::lanes = (std::uint64_t{1} << lanes) - 1;
    port_ = new (place_) rpc::Client::Port(client.open<opcode>());
    gpu::step = 1;
    if constexpr (opcode == noop) {
      port_->send([](rpc::Buffer*) {});
    } else {
      port_->send([](rpc::Buffer* buffer) {
        for (std::uint64_t word = 0; word < 6; ++word) buffer->data[word] = word;
      });
    }
  }
  template <std::uint16_t opcode>
  void end() {
    if constexpr (opcode == noop) {
      port_->recv([](rpc::Buffer*) {});
    } else {
      port_->recv([this](rpc::Buffer* buffer) { wrong_ |= buffer->data[0] != 15; });
    }
    port_->close();
  }
  [[nodiscard]] bool wrong() const { return wrong_; }

 private:
  alignas(rpc::Client::Port) unsigned char place_[sizeof(rpc::Client::Port)] = {};
  rpc::Client::Port* port_ = nullptr;
  bool wrong_ = false;
};

double floor_us() {
  constexpr int trips = 200'000;
  struct alignas(64) Line {
    std::atomic<int> word{0};
  } line;
  std::thread other([&] {
    for (int trip = 0; trip < trips; ++trip) {
      while (line.word.load(std::memory_order_acquire) != 2 * trip + 1) {
      }
      line.word.store(2 * trip + 2, std::memory_order_release);
    }
  });
  const auto begin = Clock::now();
  for (int trip = 0; trip < trips; ++trip) {
    line.word.store(2 * trip + 1, std::memory_order_release);
    while (line.word.load(std::memory_order_acquire) != 2 * trip + 2) {
    }
  }
  const double spent = seconds_since(begin);
  other.join();
  return spent * 1e6 / trips;
}

double round_trip_us(std::uint32_t ports) {
  Peer peer(ports, 1);
  std::vector<double> samples(20'000);
  Flight flight;
  for (double& sample : samples) {
    const auto begin = Clock::now();
    flight.begin<noop>(peer.client(), 1);
    flight.end<noop>();
    sample = seconds_since(begin) * 1e6;
  }
  return median(std::move(samples));
}

template <std::uint16_t opcode>
double millions_a_second(Peer& peer, std::uint32_t lanes, std::uint32_t in_flight,
                         std::uint64_t calls) {
  std::vector<Flight> flights(in_flight);
  const std::uint64_t waves = calls / lanes;
  const auto begin = Clock::now();
  for (std::uint64_t wave = 0; wave < waves + in_flight; ++wave) {
    Flight& flight = flights[wave % in_flight];
    if (wave >= in_flight) flight.end<opcode>();
    if (wave < waves) flight.begin<opcode>(peer.client(), lanes);
  }
  const double spent = seconds_since(begin);
  for (const Flight& flight : flights) {
    if (flight.wrong()) std::abort();
  }
  return static_cast<double>(waves * lanes) / spent / 1e6;
}

}  // namespace

int main() {
  std::vector<double> floors, singles, waves, data;
  constexpr std::uint32_t port_counts[] = {64, 4096};  // Release 19 supports at most 4,096.
  std::vector<double> trips[2];
  for (int round = 0; round < rounds; ++round) {
    floors.push_back(floor_us());
    for (int index = 0; index < 2; ++index)
      trips[index].push_back(round_trip_us(port_counts[index]));
    {
      Peer peer(16, 1);
      singles.push_back(millions_a_second<noop>(peer, 1, 16, 500'000));
    }
    Peer peer(4, wave_lanes);
    waves.push_back(millions_a_second<noop>(peer, wave_lanes, 4, 8'000'000));
    data.push_back(millions_a_second<call>(peer, wave_lanes, 4, 4'000'000));
  }
  std::printf(
      "{\"floor_us\":%.3f,\"p50_us\":{\"64\":%.3f,\"4096\":%.3f},\"single_mcalls\":%.2f,"
      "\"wave_mcalls\":%.1f,\"wave_data_mcalls\":%.1f}\n",
      median(floors), median(trips[0]), median(trips[1]), median(singles), median(waves),
      median(data));
}
