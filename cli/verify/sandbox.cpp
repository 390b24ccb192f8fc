#include "cli/verify/sandbox.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <mqueue.h>
#include <poll.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/inotify.h>
#include <sys/ipc.h>
#include <sys/mman.h>
#include <sys/msg.h>
#include <sys/sem.h>
#include <sys/shm.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/timerfd.h>
#include <sys/uio.h>
#include <sys/un.h>
#include <sys/xattr.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <ctime>
#include <filesystem>
#include <system_error>
#include <vector>

namespace k2k::cli::verify {

namespace {

namespace fs = std::filesystem;

// Linux places no other mapping here, so pages that a call unmapped stay free.
constexpr std::uintptr_t mapping_address = 0x5eed00000000;
// A time within a day of now was set by the clock.
constexpr std::int64_t recent_s = 86400;

int made(long result, const char* what) {
  if (result < 0) throw std::system_error(errno, std::generic_category(), what);
  return static_cast<int>(result);
}

void write_file(const std::string& path, const std::string& content) {
  const int descriptor =
      made(::open(path.c_str(), O_WRONLY | O_CREAT | O_CLOEXEC, 0640), path.c_str());
  made(::write(descriptor, content.data(), content.size()), path.c_str());
  ::close(descriptor);
}

sockaddr_un unix_name(const std::string& path) {
  sockaddr_un name{};
  name.sun_family = AF_UNIX;
  path.copy(name.sun_path, sizeof(name.sun_path) - 1);
  return name;
}

std::string shown_time(const timespec& time) {
  if (std::abs(time.tv_sec - std::time(nullptr)) < recent_s) return "now";
  return fmt::format("{}.{}", time.tv_sec, time.tv_nsec);
}

std::string without(const std::string& root, std::string text) {
  for (std::size_t at; (at = text.find(root)) != std::string::npos;) text.erase(at, root.size());
  return text;
}

std::string content_of(const fs::path& path) {
  const int descriptor = ::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);
  if (descriptor < 0) return "unreadable";
  std::string content(page_bytes, '\0');
  const ssize_t count = ::pread(descriptor, content.data(), content.size(), 0);
  ::close(descriptor);
  content.resize(count < 0 ? 0 : static_cast<std::size_t>(count));
  return content;
}

std::string attributes_of(const fs::path& path) {
  std::string names(page_bytes, '\0');
  const ssize_t bytes = ::llistxattr(path.c_str(), names.data(), names.size());
  std::string shown;
  for (std::size_t at = 0; bytes > 0 && at < static_cast<std::size_t>(bytes);) {
    const std::string name = names.c_str() + at;
    at += name.size() + 1;
    std::string value(page_bytes, '\0');
    const ssize_t size = ::lgetxattr(path.c_str(), name.c_str(), value.data(), value.size());
    value.resize(size < 0 ? 0 : static_cast<std::size_t>(size));
    shown += " " + name + "=" + value;
  }
  return shown;
}

std::string entry_of(const fs::path& path, const std::string& root) {
  struct stat status{};
  if (::lstat(path.c_str(), &status) != 0) return "";
  std::string line =
      fmt::format("{} mode {:o} owner {}:{} links {} times {} {}", without(root, path.string()),
                  status.st_mode, status.st_uid, status.st_gid, status.st_nlink,
                  shown_time(status.st_atim), shown_time(status.st_mtim));
  if (S_ISREG(status.st_mode)) {
    line += fmt::format(" bytes {} '{}'", status.st_size, content_of(path));
  }
  if (S_ISLNK(status.st_mode)) line += " to " + fs::read_symlink(path).string();
  return line + attributes_of(path) + "\n";
}

Sandbox::Identity identity_of(int descriptor) {
  struct stat status{};
  if (::fstat(descriptor, &status) != 0) return {};
  return {status.st_dev, status.st_ino};
}

}  // namespace

const void* nowhere() {
  static void* const page =
      ::mmap(nullptr, page_bytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (page == MAP_FAILED) throw std::system_error(errno, std::generic_category(), "mmap");
  return page;
}

std::string described(int descriptor, const std::string& root) {
  const int flags = ::fcntl(descriptor, F_GETFL);
  if (flags < 0) return "closed";
  std::string target(page_bytes, '\0');
  const ssize_t length =
      ::readlink(fmt::format("/proc/self/fd/{}", descriptor).c_str(), target.data(), target.size());
  target.resize(length < 0 ? 0 : static_cast<std::size_t>(length));
  target = without(root, target);
  if (const std::size_t inode = target.find(":["); inode != std::string::npos) target.erase(inode);
  return fmt::format("{} flags {:o} {}", target, flags, ::fcntl(descriptor, F_GETFD));
}

IpcNames ipc_names() {
  const int process = ::getpid();
  return {.queue = fmt::format("k2k-verify-{}", process),
          .new_queue = fmt::format("k2k-verify-{}-new", process),
          .new_key = process | 0x5e000000};
}

IpcErrors errors_of_ipc() {
  IpcErrors errors;
  const std::string name = fmt::format("/k2k-verify-{}-try", ::getpid());
  const int queue = ::mq_open(name.c_str(), O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600, nullptr);
  if (queue < 0) {
    errors.queue = errno;
  } else {
    ::mq_close(queue);
    ::mq_unlink(name.c_str());
  }
  const int letters = ::msgget(IPC_PRIVATE, 0600);
  if (letters < 0) {
    errors.system_v = errno;
  } else {
    ::msgctl(letters, IPC_RMID, nullptr);
  }
  return errors;
}

Sandbox::Sandbox(IpcKinds ipc) : ipc_(ipc) {
  descriptors_.fill(-1);
  identifiers_.fill(-1);
  try {
    make();
  } catch (...) {
    remove();
    throw;
  }
}

void Sandbox::make() {
  std::string name = (fs::temp_directory_path() / "k2k-verify-XXXXXX").string();
  if (::mkdtemp(name.data()) == nullptr) made(-1, name.c_str());
  root_ = name;
  make_tree();
  open_files();
  open_sockets();
  open_others();
  if (ipc_.queue) make_queue();
  if (ipc_.system_v) make_system_v();
  void* const mapping =
      ::mmap(reinterpret_cast<void*>(mapping_address), mapping_pages * page_bytes,
             PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, -1, 0);
  if (mapping == MAP_FAILED) made(-1, "mmap");
  mapping_ = static_cast<char*>(mapping);
  std::memset(mapping_, 'm', mapping_pages * page_bytes);
}

Sandbox::~Sandbox() { remove(); }

void Sandbox::remove() {
  for (std::size_t index = 0; index < object_count; ++index) {
    // The call may have closed it, and its number may name something else by now.
    if (identity_of(descriptors_[index]) == identities_[index]) ::close(descriptors_[index]);
  }
  remove_ipc();
  if (mapping_ != nullptr) ::munmap(mapping_, mapping_pages * page_bytes);
  std::error_code ignored;
  if (!root_.empty()) fs::remove_all(root_, ignored);
}

void Sandbox::take(Object object, int descriptor) {
  const auto index = static_cast<std::size_t>(object);
  descriptors_[index] = made(descriptor, "an object of the sandbox");
  identities_[index] = identity_of(descriptor);
}

void Sandbox::make_tree() const {
  write_file(root_ + "/file", "0123456789");
  write_file(root_ + "/other", "");
  made(::setxattr((root_ + "/file").c_str(), "user.colour", "red", 3, 0) == 0 || errno == ENOTSUP
           ? 0
           : -1,
       "setxattr");
  made(::mkdir((root_ + "/folder").c_str(), 0750), "mkdir");
  write_file(root_ + "/folder/inner", "inner");
  made(::mkdir((root_ + "/empty").c_str(), 0750), "mkdir");
  made(::symlink("file", (root_ + "/link").c_str()), "symlink");
}

void Sandbox::open_files() {
  take(Object::file, ::open((root_ + "/file").c_str(), O_RDWR | O_CLOEXEC));
  made(::lseek(descriptor(Object::file), 2, SEEK_SET), "lseek");
  take(Object::read_only, ::open((root_ + "/file").c_str(), O_RDONLY | O_CLOEXEC));
  take(Object::other, ::open((root_ + "/other").c_str(), O_RDWR | O_CLOEXEC));
  take(Object::directory, ::open(root_.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  std::array<int, 2> ends{};
  made(::pipe2(ends.data(), O_CLOEXEC), "pipe2");
  take(Object::pipe_in, ends[0]);
  take(Object::pipe_out, ends[1]);
  made(::write(ends[1], "pipe", 4), "write");
  made(::pipe2(ends.data(), O_CLOEXEC | O_NONBLOCK), "pipe2");
  take(Object::empty_pipe, ends[0]);
  ::close(ends[1]);
}

void Sandbox::open_sockets() {
  std::array<int, 2> ends{};
  constexpr int how = SOCK_CLOEXEC | SOCK_NONBLOCK;
  made(::socketpair(AF_UNIX, SOCK_STREAM | how, 0, ends.data()), "socketpair");
  take(Object::stream, ends[0]);
  take(Object::stream_peer, ends[1]);
  made(::write(ends[1], "stream", 6), "write");
  made(::socketpair(AF_UNIX, SOCK_DGRAM | how, 0, ends.data()), "socketpair");
  take(Object::datagram, ends[0]);
  take(Object::datagram_peer, ends[1]);
  made(::write(ends[1], "datagram", 8), "write");
  take(Object::unbound, ::socket(AF_UNIX, SOCK_STREAM | how, 0));
  take(Object::listener, ::socket(AF_UNIX, SOCK_STREAM | how, 0));
  const sockaddr_un name = unix_name(root_ + "/listener");
  const auto* const address = reinterpret_cast<const sockaddr*>(&name);
  made(::bind(descriptor(Object::listener), address, sizeof(name)), "bind");
  made(::listen(descriptor(Object::listener), 4), "listen");
  const int client = made(::socket(AF_UNIX, SOCK_STREAM | how, 0), "socket");
  made(::connect(client, address, sizeof(name)), "connect");
  ::close(client);
}

void Sandbox::open_others() {
  take(Object::event, ::eventfd(3, EFD_CLOEXEC | EFD_NONBLOCK));
  take(Object::epoll, ::epoll_create1(EPOLL_CLOEXEC));
  epoll_event waiting{};
  waiting.events = EPOLLIN;
  waiting.data.u64 = 77;
  made(::epoll_ctl(descriptor(Object::epoll), EPOLL_CTL_ADD, descriptor(Object::event), &waiting),
       "epoll_ctl");
  take(Object::timer, ::timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC | TFD_NONBLOCK));
  take(Object::notify, ::inotify_init1(IN_CLOEXEC | IN_NONBLOCK));
  take(Object::memory, ::memfd_create("k2k-verify", MFD_CLOEXEC | MFD_ALLOW_SEALING));
  made(::ftruncate(descriptor(Object::memory), page_bytes), "ftruncate");
}

void Sandbox::make_queue() {
  mq_attr limits{};
  limits.mq_maxmsg = 4;
  limits.mq_msgsize = 16;
  const std::string name = "/" + ipc_names().queue;
  constexpr int how = O_RDWR | O_CREAT | O_EXCL | O_NONBLOCK | O_CLOEXEC;
  take(Object::posix_queue, ::mq_open(name.c_str(), how, 0600, &limits));
  made(::mq_send(descriptor(Object::posix_queue), "mail", 4, 3), "mq_send");
}

void Sandbox::make_system_v() {
  auto& [queue, semaphores, segment] = identifiers_;
  queue = made(::msgget(IPC_PRIVATE, 0600), "msgget");
  const struct {
    long type = 2;
    char content[4] = {'m', 'a', 'i', 'l'};
  } letter;
  made(::msgsnd(queue, &letter, sizeof(letter.content), IPC_NOWAIT), "msgsnd");
  semaphores = made(::semget(IPC_PRIVATE, 2, 0600), "semget");
  made(::semctl(semaphores, 0, SETVAL, 1), "semctl");
  segment = made(::shmget(IPC_PRIVATE, page_bytes, 0600), "shmget");
  void* const page = ::shmat(segment, nullptr, 0);
  if (page == reinterpret_cast<void*>(-1)) made(-1, "shmat");
  std::memset(page, 's', page_bytes);
  ::shmdt(page);
}

// What is gone already is not looked for.
void Sandbox::remove_ipc() const {
  const IpcNames names = ipc_names();
  if (ipc_.queue) {
    for (const std::string& name : {names.queue, names.new_queue}) {
      ::mq_unlink(("/" + name).c_str());
    }
  }
  if (!ipc_.system_v) return;
  const auto& [queue, semaphores, segment] = identifiers_;
  for (const int one : {queue, ::msgget(names.new_key, 0)}) ::msgctl(one, IPC_RMID, nullptr);
  for (const int one : {semaphores, ::semget(names.new_key, 0, 0)}) ::semctl(one, 0, IPC_RMID);
  for (const int one : {segment, ::shmget(names.new_key, 0, 0)}) ::shmctl(one, IPC_RMID, nullptr);
}

std::string Sandbox::state_of_ipc() const {
  const auto& [queue, semaphores, segment] = identifiers_;
  const IpcNames names = ipc_names();
  mq_attr attributes{};
  ::mq_getattr(descriptor(Object::posix_queue), &attributes);
  std::string lines = fmt::format("posix queue: {} messages\n", attributes.mq_curmsgs);
  for (const std::string& name : {names.queue, names.new_queue}) {
    const int found = ::mq_open(("/" + name).c_str(), O_RDONLY | O_CLOEXEC);
    lines += fmt::format("a name of a queue: {}\n", found >= 0);
    if (found >= 0) ::mq_close(found);
  }
  msqid_ds letters{};
  lines +=
      fmt::format("queue: {} {} messages\n", ::msgctl(queue, IPC_STAT, &letters), letters.msg_qnum);
  for (const int index : {0, 1}) {
    lines += fmt::format("semaphore {}: {}\n", index, ::semctl(semaphores, index, GETVAL));
  }
  shmid_ds memory{};
  lines += fmt::format("segment: {} mode {:o} attached {}\n", ::shmctl(segment, IPC_STAT, &memory),
                       memory.shm_perm.mode, memory.shm_nattch);
  return lines + fmt::format("new: {} {} {}\n", ::msgget(names.new_key, 0) >= 0,
                             ::semget(names.new_key, 0, 0) >= 0,
                             ::shmget(names.new_key, 0, 0) >= 0);
}

std::string Sandbox::state() const {
  std::vector<fs::path> names{root_};
  std::error_code ignored;
  for (fs::recursive_directory_iterator entry(root_, ignored), end; entry != end;
       entry.increment(ignored)) {
    names.push_back(entry->path());
  }
  std::sort(names.begin(), names.end());
  std::string lines;
  for (std::size_t index = 0; index < object_count; ++index) {
    const int descriptor = descriptors_[index];
    pollfd ready{descriptor, POLLIN | POLLOUT | POLLRDHUP, 0};
    ::poll(&ready, 1, 0);
    lines += fmt::format("object {}: {} at {} ready {:x}\n", index, described(descriptor, root_),
                         ::lseek(descriptor, 0, SEEK_CUR), ready.revents);
  }
  for (const fs::path& name : names) lines += entry_of(name, root_);
  if (ipc_.queue || ipc_.system_v) lines += state_of_ipc();
  for (std::size_t page = 0; page < mapping_pages; ++page) {
    char byte = '-';
    const iovec here{&byte, 1};
    const iovec there{mapping_ + page * page_bytes, 1};
    const bool readable = ::process_vm_readv(::getpid(), &here, 1, &there, 1, 0) == 1;
    const bool writable = readable && ::process_vm_writev(::getpid(), &here, 1, &there, 1, 0) == 1;
    lines += fmt::format("page {}: {} {} {}\n", page, readable, writable, static_cast<int>(byte));
  }
  return lines;
}

}  // namespace k2k::cli::verify
