// Goal: the socket answers every permitted client, is not harmed by a client that stalls, floods or
// sends false data, and leaves nothing behind: at its end, after fork(), after a crash. Method:
// listeners in a folder of the test, with requests from the client and from bare sockets.

#include "control/listener.hpp"

#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <fstream>
#include <nlohmann/json.hpp>
#include <thread>

#include "base/clock.hpp"
#include "control/client.hpp"
#include "control/folder_fixture.hpp"
#include "control/socket.hpp"

namespace k2k::control {
namespace {

using namespace std::chrono_literals;

class ControlListener : public InOwnFolder {
 protected:
  static std::unique_ptr<Listener> start(Answer answer = [](std::string_view) {
    return success_line({{"pid", ::getpid()}});
  }) {
    Result<Folder> folder = own_folder();
    if (!folder) throw std::runtime_error(folder.error().message);
    Result<std::unique_ptr<Listener>> made =
        Listener::open(std::move(folder).value(), std::move(answer));
    if (!made) throw std::runtime_error(made.error().message);
    if (Status status = made.value()->start(); !status) {
      throw std::runtime_error(status.error().message);
    }
    return std::move(made).value();
  }
  // A connection that obeys no protocol.
  [[nodiscard]] Descriptor raw(const std::string& name) const {
    const std::vector<Folder> folders = folders_of(::geteuid());
    Descriptor socket = connect_to(folders.at(0), name);
    const timeval longest{10, 0};
    ::setsockopt(socket.number(), SOL_SOCKET, SO_RCVTIMEO, &longest, sizeof(longest));
    return socket;
  }
  static bool say(const Descriptor& socket, std::string_view text) {
    return ::send(socket.number(), text.data(), text.size(), MSG_NOSIGNAL) ==
           static_cast<ssize_t>(text.size());
  }
  // Reads up to the newline, or to the end of the connection.
  static std::string line(const Descriptor& socket) {
    std::string text;
    char letter = 0;
    while (::recv(socket.number(), &letter, 1, 0) == 1 && letter != '\n') text += letter;
    return text;
  }
  static std::string own_name() { return std::to_string(::getpid()); }
};

TEST(ControlName, is_a_number_or_two) {
  EXPECT_EQ(text_of({123, 1}), "123");
  EXPECT_EQ(text_of({123, 2}), "123-2");
  EXPECT_EQ(parse_name("123")->process, 123);
  EXPECT_EQ(parse_name("123-45")->number, 45u);
  for (const char* bad : {"", "0", "-1", "12x", "12-", "12-0", "12-1-1", ".", "1e3", "+5",
                          "99999999999999999999", " 1"}) {
    EXPECT_FALSE(parse_name(bad).has_value()) << bad;
  }
}

TEST_F(ControlListener, answers_is_listed_and_leaves_nothing_behind) {
  {
    const auto first = start();
    const auto second = start();
    EXPECT_EQ(first->path(), folder_ + "/" + own_name());
    EXPECT_EQ(second->path(), folder_ + "/" + own_name() + "-2");
    EXPECT_EQ(second->number(), 2u);
    const std::vector<Endpoint> found = endpoints();
    ASSERT_EQ(found.size(), 2u);
    EXPECT_EQ(found[0].process, ::getpid());
    EXPECT_EQ(found[0].user, ::geteuid());
    EXPECT_EQ(found[1].number, 2u);
    for (const Endpoint& one : found) {
      const auto reply = ask(one, {});
      ASSERT_TRUE(reply.ok()) << reply.error().message;
      EXPECT_EQ(reply.value()["pid"], ::getpid());
    }
  }
  EXPECT_EQ(files(), 0u);
  EXPECT_TRUE(endpoints().empty());
}

TEST_F(ControlListener, costs_nothing_without_requests) {
  const auto listener = start();
  ASSERT_TRUE(ask(endpoints().at(0), {}).ok());
  // The client has its answer before the listener's thread sleeps again.
  double before = -1;
  for (int wait = 0; wait < 100 && before != listener->cpu_seconds(); ++wait) {
    before = listener->cpu_seconds();
    std::this_thread::sleep_for(50ms);
  }
  std::this_thread::sleep_for(200ms);
  EXPECT_EQ(listener->cpu_seconds(), before);
}

TEST_F(ControlListener, hands_over_lines_whole_and_one_after_the_other) {
  std::vector<std::string> heard;
  const auto listener = start([&](std::string_view text) {
    heard.emplace_back(text);
    return std::string("{}\n");
  });
  const Descriptor socket = raw(own_name());
  ASSERT_TRUE(say(socket, "par"));
  std::this_thread::sleep_for(20ms);
  ASSERT_TRUE(say(socket, "ted\n"));
  EXPECT_EQ(line(socket), "{}");
  ASSERT_TRUE(say(socket, std::string("nul\0in it\n", 10)));
  EXPECT_EQ(line(socket), "{}");
  EXPECT_EQ(heard, (std::vector<std::string>{"parted", std::string("nul\0in it", 9)}));
}

TEST_F(ControlListener, lines_without_end_are_cut_and_their_writer_is_dropped) {
  const auto listener =
      start([](std::string_view text) { return std::to_string(text.size()) + "\n"; });
  const Descriptor socket = raw(own_name());
  const std::string flood(request_bytes_max + 8192, 'x');
  static_cast<void>(say(socket, flood));
  EXPECT_GT(std::stoul(line(socket)), request_bytes_max);
  EXPECT_EQ(line(socket), "");
}

TEST_F(ControlListener, stalled_client_delays_no_other_and_is_dropped) {
  const auto listener = start();
  const Descriptor stalls = raw(own_name());
  ASSERT_TRUE(say(stalls, "{\"version\":"));
  EXPECT_TRUE(ask(endpoints().at(0), {}).ok());
  const Instant begun = now();
  EXPECT_EQ(line(stalls), "");
  EXPECT_LT(now() - begun, 8s) << "the listener dropped it before the test's own timeout";
}

// A byte now and then does not keep a line alive.
TEST_F(ControlListener, trickling_client_is_dropped_as_well) {
  const auto listener = start();
  const Descriptor trickles = raw(own_name());
  bool dropped = false;
  for (int byte = 0; byte < 100 && !dropped; ++byte) {
    dropped = !say(trickles, "x");
    std::this_thread::sleep_for(100ms);
  }
  EXPECT_TRUE(dropped);
}

TEST_F(ControlListener, client_that_does_not_read_delays_no_other) {
  const std::string large = success_line({{"text", std::string(2 << 20, 'x')}});
  const auto listener = start([&](std::string_view) { return large; });
  const Descriptor deaf = raw(own_name());
  ASSERT_TRUE(say(deaf, "{}\n"));
  EXPECT_TRUE(ask(endpoints().at(0), {}).ok());
}

// All connections of one process: only the last one makes a request.
TEST_F(ControlListener, oldest_connection_without_a_request_makes_room_and_gets_the_reason) {
  const auto listener = start();
  std::vector<Descriptor> many;
  for (std::size_t count = 0; count <= clients_max; ++count) {
    many.push_back(raw(own_name()));
    ASSERT_TRUE(say(many.back(), "{"));
  }
  EXPECT_NE(line(many.front())
                .find("control: 16 clients at once are served, and newer ones came; "
                      "try again"),
            std::string::npos);
  ASSERT_TRUE(say(many.back(), "}\n"));
  EXPECT_NE(line(many.back()).find("\"ok\""), std::string::npos);
}

TEST_F(ControlListener, many_dripping_clients_delay_no_other) {
  const auto listener = start();
  const std::string name = own_name();
  const pid_t drips = ::fork();
  if (drips == 0) {
    ::prctl(PR_SET_PDEATHSIG, SIGKILL);
    std::vector<Descriptor> many(40);
    while (true) {
      for (Descriptor& one : many) {
        if (!one.open() || !say(one, "x")) one = raw(name);
      }
      std::this_thread::sleep_for(10ms);
    }
  }
  std::this_thread::sleep_for(300ms);
  // The client sends its request in pieces, so that newer clients connect meanwhile.
  for (int time = 0; time < 5; ++time) {
    const Instant begun = now();
    const Descriptor socket = raw(name);
    for (const char* piece : {"{", "\"version\":1,", "\"request\":\"show\"}\n"}) {
      std::this_thread::sleep_for(100ms);
      EXPECT_TRUE(say(socket, piece));
    }
    const std::string answer = line(socket);
    EXPECT_NE(answer.find("\"pid\""), std::string::npos) << answer;
    EXPECT_LT(now() - begun, 1500ms);
    EXPECT_TRUE(ask(endpoints().at(0), {}).ok());
  }
  ::kill(drips, SIGKILL);
  ::waitpid(drips, nullptr, 0);
}

TEST_F(ControlListener, sockets_of_the_dead_are_swept_and_passed_over) {
  const pid_t child = ::fork();
  if (child == 0) {
    const auto lost = start();
    ::_exit(0);  // As a crash: nothing is removed.
  }
  ::waitpid(child, nullptr, 0);
  EXPECT_EQ(files(), 1u);
  EXPECT_TRUE(endpoints().empty());
  const auto listener = start();
  EXPECT_EQ(files(), 1u) << "only the listener's own file is left";
  EXPECT_EQ(endpoints().size(), 1u);
}

TEST_F(ControlListener, name_left_by_a_process_of_the_same_number_is_taken_over) {
  {
    Result<Folder> folder = own_folder();
    ASSERT_TRUE(folder.ok());
    const Descriptor left = listen_at(folder.value(), own_name());
    ASSERT_TRUE(left.open());
  }
  const auto listener = start();
  EXPECT_EQ(listener->number(), 1u);
  EXPECT_TRUE(ask(endpoints().at(0), {}).ok());
}

TEST_F(ControlListener, file_that_is_no_socket_stays_and_is_passed_over) {
  std::ofstream(folder_ + "/" + own_name()) << "a file";
  std::filesystem::create_symlink("/dev/log", folder_ + "/" + own_name() + "-2");
  const auto listener = start();
  EXPECT_EQ(listener->number(), 3u);
  EXPECT_EQ(endpoints().size(), 1u);
  EXPECT_EQ(files(), 3u);
}

// The child has copies of the parent's descriptors, and closes them at once.
TEST_F(ControlListener, child_of_fork_does_not_keep_the_socket_alive) {
  int to_child[2];
  int from_child[2];
  ASSERT_EQ(::pipe(to_child), 0);
  ASSERT_EQ(::pipe(from_child), 0);
  auto listener = start();
  const Endpoint endpoint = endpoints().at(0);
  const pid_t child = ::fork();
  if (child == 0) {
    static_cast<void>(listener.release());  // As the façade does.
    ::close(to_child[1]);
    static_cast<void>(::write(from_child[1], "x", 1));
    char end = 0;
    static_cast<void>(::read(to_child[0], &end, 1));
    ::_exit(0);
  }
  ::close(to_child[0]);
  char ready = 0;
  ASSERT_EQ(::read(from_child[0], &ready, 1), 1) << "the child's fork() has returned";
  const auto reply = ask(endpoint, {});
  ASSERT_TRUE(reply.ok()) << reply.error().message;
  EXPECT_EQ(reply.value()["pid"], ::getpid()) << "the parent answers";
  const std::string path = listener->path();
  std::filesystem::create_hard_link(path, folder_ + "/1-9");  // The socket, under another name.
  listener.reset();
  EXPECT_FALSE(std::filesystem::exists(path));
  const Result<Folder> folder = own_folder();
  EXPECT_FALSE(connect_to(folder.value(), "1-9").open());
  EXPECT_EQ(errno, ECONNREFUSED) << "no process has the socket open";
  ::close(to_child[1]);
  ::close(from_child[0]);
  ::close(from_child[1]);
  ::waitpid(child, nullptr, 0);
}

TEST_F(ControlListener, ends_and_takes_its_name_away_where_the_program_closed_its_descriptors) {
  const auto listener = start();
  for (int round = 0; round < 2; ++round) {  // Asleep, and awake.
    const std::string path = listener->path();
    for (int number = next_own(0); number < own_numbers_max; number = next_own(number + 1)) {
      ::close(number);
    }
    if (round == 0) std::this_thread::sleep_for(50ms);
  }
  EXPECT_LT(listener->cpu_seconds(), 0.05);
}

TEST_F(ControlListener, stopped_process_is_reported_as_not_answering) {
  int from_child[2];
  ASSERT_EQ(::pipe(from_child), 0);
  const pid_t child = ::fork();
  if (child == 0) {
    const auto listener = start();
    static_cast<void>(::write(from_child[1], "x", 1));
    while (true) ::pause();
  }
  char ready = 0;
  ASSERT_EQ(::read(from_child[0], &ready, 1), 1);
  ASSERT_EQ(::kill(child, SIGSTOP), 0);
  ASSERT_EQ(::waitpid(child, nullptr, WUNTRACED), child) << "all of its threads have stopped";
  const auto found = endpoints();
  ASSERT_EQ(found.size(), 1u);
  const auto reply = ask(found[0], {});
  ASSERT_FALSE(reply.ok());
  EXPECT_EQ(reply.error().code, ETIMEDOUT);
  const std::string number = std::to_string(child);
  EXPECT_EQ(reply.error().message,
            number + " does not answer within 5 s; is it stopped? kill -CONT " + number);
  ::kill(child, SIGKILL);
  ::waitpid(child, nullptr, 0);
  const auto gone = ask(found[0], {});
  ASSERT_FALSE(gone.ok());
  EXPECT_EQ(gone.error().code, ESRCH);
  for (const int end : from_child) ::close(end);
}

}  // namespace
}  // namespace k2k::control
