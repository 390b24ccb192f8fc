// Goal: the table agrees with Linux' own headers, and is consistent.

#include "calls/rows.hpp"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <limits.h>
#include <linux/aio_abi.h>
#include <linux/fb.h>
#include <linux/fiemap.h>
#include <linux/fs.h>
#include <linux/futex.h>
#include <linux/if_tun.h>
#include <linux/kd.h>
#include <linux/keyctl.h>
#include <linux/landlock.h>
#include <linux/random.h>
#include <linux/sockios.h>
#include <mqueue.h>
#include <net/if.h>
#include <poll.h>
#include <sys/epoll.h>
#include <sys/ioctl.h>
#include <sys/msg.h>
#include <sys/quota.h>
#include <sys/resource.h>
#include <sys/sem.h>
#include <sys/shm.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/statfs.h>
#include <sys/syscall.h>
#include <sys/sysinfo.h>
#include <sys/time.h>
#include <sys/times.h>
#include <sys/timex.h>
#include <sys/uio.h>
#include <sys/utsname.h>
#include <utime.h>

#include <algorithm>
#include <csignal>
#include <cstddef>
#include <ctime>
#include <initializer_list>
#include <map>
#include <set>
#include <string>

#include "calls/commands.hpp"
#include "calls/pieces.hpp"
#include "calls/table.hpp"

namespace k2k::calls {
namespace {

bool is_buffer(Kind kind) {
  return !is_one_of(kind, Kind::none, Kind::value, Kind::length, Kind::descriptor, Kind::address,
                    Kind::opaque, Kind::by_command);
}

// Kinds whose size a number tells.
bool is_counted(Kind kind) {
  return is_one_of(kind, Kind::in_bytes, Kind::out_bytes, Kind::in_sized, Kind::in_array,
                   Kind::out_array, Kind::inout_array, Kind::in_letter, Kind::out_letter,
                   Kind::inout_set, Kind::in_nodes, Kind::out_pages, Kind::in_pieces,
                   Kind::out_pieces, Kind::in_messages, Kind::out_messages);
}

bool has_bytes(Kind kind) {
  return is_one_of(kind, Kind::in_struct, Kind::out_struct, Kind::inout_struct, Kind::in_sized,
                   Kind::out_sized, Kind::out_limited, Kind::text, Kind::in_array, Kind::out_array,
                   Kind::inout_array, Kind::in_letter, Kind::out_letter, Kind::inout_set,
                   Kind::in_nodes, Kind::in_handle, Kind::inout_handle, Kind::in_self_sized,
                   Kind::in_pieces, Kind::out_pieces);
}

// What the caller's pointer leads to is not written itself; of vectors, the pieces may be.
bool is_constant(Kind kind) {
  return is_one_of(kind, Kind::path, Kind::in_bytes, Kind::in_struct, Kind::in_sized, Kind::text,
                   Kind::in_array, Kind::in_letter, Kind::in_nodes, Kind::in_handle,
                   Kind::in_self_sized, Kind::in_pieces, Kind::out_pieces, Kind::in_piece,
                   Kind::in_content, Kind::out_content, Kind::in_message);
}

TEST(Rows, have_a_number_and_a_name_of_their_own) {
  std::set<std::uint16_t> numbers;
  std::set<std::string> names;
  for (const Row& row : rows) {
    EXPECT_TRUE(numbers.insert(row.number).second) << row.name;
    EXPECT_TRUE(names.insert(row.name).second) << row.name;
  }
}

TEST(Rows, are_found_by_their_number_and_only_by_it) {
  for (std::uint32_t number = 0; number <= 0xffff; ++number) {
    const int index = find(static_cast<std::uint16_t>(number));
    if (index < 0) continue;
    EXPECT_EQ(rows[index].number, number);
  }
  for (int index = 0; index < row_count; ++index) EXPECT_EQ(find(rows[index].number), index);
  EXPECT_EQ(find(1023), -1);
}

TEST(Rows, have_shapes_for_the_host_at_the_same_places) {
  for (int index = 0; index < row_count; ++index) {
    const Row& row = rows[index];
    const Shape& shape = shapes[index];
    EXPECT_STREQ(shape.name, row.name);
    EXPECT_EQ(shape.number, row.number);
    EXPECT_EQ(shape.family, row.family);
    EXPECT_EQ(shape.blocking, row.blocking);
    for (int at = 0; at < parameters_max; ++at) {
      EXPECT_EQ(shape.parameters[at].kind, row.parameters[at].kind) << row.name;
      EXPECT_EQ(shape.parameters[at].size_from, row.parameters[at].size_from) << row.name;
      EXPECT_EQ(shape.parameters[at].bytes, row.parameters[at].bytes) << row.name;
    }
  }
}

TEST(Rows, count_as_linux_does) {
  EXPECT_EQ(number_in(Kind::value, ~std::uint64_t{0}), ~std::uint64_t{0});
  EXPECT_EQ(number_in(Kind::length, ~std::uint64_t{0}), 0u);
  EXPECT_EQ(number_in(Kind::length, 0x80000000), 0u) << "an int below 0";
  EXPECT_EQ(number_in(Kind::length, 0x700000007), 7u) << "32 bits of it";
  EXPECT_EQ(bytes_of(3, 12), 36u);
  EXPECT_EQ(bytes_of(std::uint64_t{1} << 62, 12), std::uint64_t{1} << 62);
}

TEST(Rows, count_bits_pages_and_elements) {
  EXPECT_EQ(bytes_of_bits(0), 0u);
  EXPECT_EQ(bytes_of_bits(1), 8u);
  EXPECT_EQ(bytes_of_bits(64), 8u);
  EXPECT_EQ(bytes_of_bits(65), 16u);
  EXPECT_EQ(bytes_of_bits(~std::uint64_t{0}), std::uint64_t{1} << 61) << "no sum wraps";
  EXPECT_EQ(pages_of(4096), 1u);
  EXPECT_EQ(pages_of(4097), 2u);
  EXPECT_EQ(pages_of(~std::uint64_t{0}), std::uint64_t{1} << 52);
  EXPECT_EQ(elements_of(Kind::in_pieces, IOV_MAX), std::uint64_t{IOV_MAX});
  EXPECT_EQ(elements_of(Kind::in_pieces, IOV_MAX + 1), 0u) << "Linux refuses them, unread";
  EXPECT_EQ(elements_of(Kind::out_messages, 5000), std::uint64_t{IOV_MAX}) << "no more are made";
  EXPECT_EQ(elements_of(Kind::in_message, 77), 1u);
  EXPECT_EQ(elements_of(Kind::in_bytes, 77), 0u);
}

TEST(Rows, of_basic_calls_come_first) {
  EXPECT_TRUE(is_basic(find(0)));
  EXPECT_TRUE(is_basic(find(nop_number)));
  EXPECT_EQ(find(nop_number), basic_count - 1);
  EXPECT_FALSE(is_basic(find(324)));
  EXPECT_FALSE(is_basic(-1));
}

TEST(Rows, say_how_long_everything_is_that_a_pointer_points_to) {
  for (const Row& row : rows) {
    const int count = parameter_count(row);
    for (int index = 0; index < count; ++index) {
      SCOPED_TRACE(std::string(row.name) + ", " + row.parameters[index].name);
      const Parameter& parameter = row.parameters[index];
      const std::string type = parameter.type;
      // A wrapper has parameters of these names, too.
      EXPECT_STRNE(parameter.name, "scope");
      EXPECT_STRNE(parameter.name, "options");
      const bool pointer = type.find('*') != std::string::npos;
      EXPECT_EQ(pointer, is_buffer(parameter.kind) || parameter.kind == Kind::address ||
                             parameter.kind == Kind::opaque);
      if (is_counted(parameter.kind)) {
        ASSERT_LT(parameter.size_from, count);
        // Linux reads an int as one.
        EXPECT_EQ(row.parameters[parameter.size_from].kind,
                  std::string(row.parameters[parameter.size_from].type) == "int" ? Kind::length
                                                                                 : Kind::value);
      }
      if (is_one_of(parameter.kind, Kind::out_limited, Kind::out_sized)) {
        ASSERT_LT(parameter.size_from, count);
        EXPECT_EQ(row.parameters[parameter.size_from].kind, Kind::inout_struct);
        EXPECT_EQ(row.parameters[parameter.size_from].bytes, sizeof(std::uint32_t));
      }
      if (has_bytes(parameter.kind)) {
        EXPECT_GT(parameter.bytes, 0);
      }
      // Read-only parameters are const for the caller, written ones are not.
      EXPECT_EQ(type.starts_with("const "), is_constant(parameter.kind));
    }
    for (int index = count; index < parameters_max; ++index) {
      EXPECT_EQ(row.parameters[index].kind, Kind::none) << row.name << " has a gap";
    }
  }
}

TEST(Rows, give_defaults_only_to_the_last_parameters) {
  for (const Row& row : rows) {
    bool seen = false;
    for (int index = 0; index < parameter_count(row); ++index) {
      const bool has = row.parameters[index].fallback != nullptr;
      EXPECT_TRUE(has || !seen) << row.name;
      seen |= has;
    }
  }
}

TEST(Rows, know_the_sizes_of_the_system_s_structures) {
  const auto bytes = [](std::uint16_t number, int parameter) {
    return std::size_t{rows[find(number)].parameters[parameter].bytes};
  };
  EXPECT_EQ(bytes(35, 0), sizeof(timespec));
  EXPECT_EQ(bytes(35, 1), sizeof(timespec));
  EXPECT_EQ(bytes(98, 1), sizeof(rusage));
  EXPECT_EQ(bytes(129, 2), sizeof(siginfo_t));
  EXPECT_EQ(bytes(5, 1), sizeof(struct stat));
  EXPECT_EQ(bytes(138, 1), sizeof(struct statfs));
  EXPECT_EQ(bytes(262, 2), sizeof(struct stat));
  EXPECT_EQ(bytes(4, 1), sizeof(struct stat));
  EXPECT_EQ(bytes(6, 1), sizeof(struct stat));
  EXPECT_EQ(bytes(63, 0), sizeof(utsname));
  EXPECT_EQ(bytes(96, 0), sizeof(timeval));
  EXPECT_EQ(bytes(96, 1), sizeof(struct timezone));
  EXPECT_EQ(bytes(97, 1), sizeof(rlimit));
  EXPECT_EQ(bytes(99, 0), sizeof(struct sysinfo));
  EXPECT_EQ(bytes(100, 0), sizeof(tms));
  EXPECT_EQ(bytes(118, 2), sizeof(uid_t));
  EXPECT_EQ(bytes(137, 1), sizeof(struct statfs));
  EXPECT_EQ(bytes(228, 1), sizeof(timespec));
  EXPECT_EQ(bytes(280, 2), 2 * sizeof(timespec));
  EXPECT_EQ(bytes(293, 0), 2 * sizeof(int));
  EXPECT_EQ(bytes(326, 1), sizeof(loff_t));
  EXPECT_EQ(bytes(332, 4), sizeof(struct statx));
  EXPECT_EQ(bytes(7, 0), sizeof(pollfd));
  EXPECT_EQ(bytes(36, 1), sizeof(itimerval));
  EXPECT_EQ(bytes(65, 1), sizeof(sembuf));
  EXPECT_EQ(bytes(115, 1), sizeof(gid_t));
  EXPECT_EQ(bytes(132, 1), sizeof(utimbuf));
  EXPECT_EQ(bytes(159, 0), sizeof(timex));
  EXPECT_EQ(bytes(232, 1), sizeof(epoll_event));
  EXPECT_EQ(bytes(240, 3), sizeof(mq_attr));
  EXPECT_EQ(bytes(244, 1), sizeof(sigevent));
  EXPECT_EQ(bytes(247, 2), sizeof(siginfo_t));
  EXPECT_EQ(bytes(286, 2), sizeof(itimerspec));
  EXPECT_EQ(bytes(19, 1), sizeof(iovec));
  EXPECT_EQ(bytes(208, 3), sizeof(io_event));
  EXPECT_EQ(bytes(278, 1), sizeof(iovec));
  EXPECT_EQ(bytes(310, 1), sizeof(iovec));
  EXPECT_EQ(bytes(299, 4), sizeof(timespec));
  EXPECT_EQ(bytes(23, 4), sizeof(timeval));
  EXPECT_EQ(bytes(449, 0), sizeof(futex_waitv));
  EXPECT_EQ(bytes(456, 0), 2 * sizeof(futex_waitv));
}

TEST(Rows, know_the_structures_whose_pointers_are_followed) {
  EXPECT_EQ(sizeof(Piece), sizeof(iovec));
  EXPECT_EQ(offsetof(Piece, bytes), offsetof(iovec, iov_len));
  EXPECT_EQ(sizeof(Message), sizeof(msghdr));
  EXPECT_EQ(offsetof(Message, name_bytes), offsetof(msghdr, msg_namelen));
  EXPECT_EQ(offsetof(Message, pieces), offsetof(msghdr, msg_iov));
  EXPECT_EQ(offsetof(Message, piece_count), offsetof(msghdr, msg_iovlen));
  EXPECT_EQ(offsetof(Message, control), offsetof(msghdr, msg_control));
  EXPECT_EQ(offsetof(Message, control_bytes), offsetof(msghdr, msg_controllen));
  EXPECT_EQ(offsetof(Message, flags), offsetof(msghdr, msg_flags));
  EXPECT_EQ(sizeof(CountedMessage), sizeof(mmsghdr));
  EXPECT_EQ(offsetof(CountedMessage, bytes), offsetof(mmsghdr, msg_len));
  EXPECT_EQ(pieces_max, std::uint64_t{IOV_MAX});
  EXPECT_EQ(name_bytes_max, sizeof(sockaddr_storage));
  // <linux/kexec.h> has other names.
  struct Segment {
    const void* buffer;
    std::size_t bytes;
    const void* memory;
    std::size_t memory_bytes;
  };
  EXPECT_EQ(rows[find(SYS_kexec_load)].parameters[2].bytes, sizeof(Segment));
}

Extent by_command(std::uint16_t number, int parameter, std::initializer_list<std::uint64_t> given) {
  std::uint64_t words[parameters_max] = {};
  std::copy(given.begin(), given.end(), words);
  return extent_of(number, parameter, words);
}

bool is_one_of_requests(std::uint32_t request, std::initializer_list<unsigned long> requests) {
  return std::find(requests.begin(), requests.end(), request) != requests.end();
}

TEST(Commands, decide_what_an_argument_is) {
  EXPECT_EQ(by_command(SYS_fcntl, 2, {3, F_GETFL}).kind, Kind::value);
  EXPECT_EQ(by_command(SYS_fcntl, 2, {3, F_GETLK}).kind, Kind::inout_struct);
  EXPECT_EQ(by_command(SYS_fcntl, 2, {3, F_SETLKW}).bytes, sizeof(struct flock));
  EXPECT_EQ(by_command(SYS_fcntl, 2, {3, F_SETOWN_EX}).bytes, sizeof(f_owner_ex));
  EXPECT_EQ(by_command(SYS_shmctl, 2, {1, IPC_STAT}).bytes, sizeof(shmid_ds));
  EXPECT_EQ(by_command(SYS_shmctl, 2, {1, IPC_INFO}).bytes, sizeof(shminfo));
  EXPECT_EQ(by_command(SYS_shmctl, 2, {1, SHM_INFO}).bytes, sizeof(shm_info));
  EXPECT_EQ(by_command(SYS_shmctl, 2, {1, IPC_RMID}).kind, Kind::value);
  EXPECT_EQ(by_command(SYS_msgctl, 2, {1, IPC_SET}).bytes, sizeof(msqid_ds));
  EXPECT_EQ(by_command(SYS_msgctl, 2, {1, MSG_INFO}).bytes, sizeof(msginfo));
  EXPECT_EQ(by_command(SYS_semctl, 3, {1, 0, IPC_STAT}).bytes, sizeof(semid_ds));
  EXPECT_EQ(by_command(SYS_semctl, 3, {1, 0, SEM_INFO}).bytes, sizeof(seminfo));
  EXPECT_EQ(by_command(SYS_semctl, 3, {1, 0, SETVAL, 7}).kind, Kind::value);
  EXPECT_EQ(by_command(SYS_semctl, 3, {1, 0, GETALL, 7, 3}).kind, Kind::inout_array);
  EXPECT_EQ(by_command(SYS_semctl, 3, {1, 0, GETALL, 7, 0}).kind, Kind::opaque)
      << "the number of semaphores is not known";
  EXPECT_EQ(by_command(SYS_landlock_add_rule, 2, {1, LANDLOCK_RULE_PATH_BENEATH}).bytes,
            sizeof(landlock_path_beneath_attr));
  EXPECT_EQ(by_command(SYS_keyctl, 2, {KEYCTL_UPDATE, 1, 2, 3}).size_from, 3);
  EXPECT_EQ(by_command(SYS_keyctl, 1, {KEYCTL_DH_COMPUTE}).bytes, sizeof(keyctl_dh_params));
  EXPECT_EQ(by_command(SYS_keyctl, 1, {KEYCTL_PKEY_VERIFY}).bytes, sizeof(keyctl_pkey_params));
}

TEST(Commands, count_only_the_bits_that_linux_counts) {
  EXPECT_EQ(by_command(SYS_futex, 3, {1, FUTEX_WAIT}).kind, Kind::in_struct);
  EXPECT_EQ(by_command(SYS_futex, 3, {1, FUTEX_WAIT | FUTEX_PRIVATE_FLAG}).kind, Kind::in_struct);
  EXPECT_EQ(by_command(SYS_futex, 3, {1, FUTEX_WAKE | FUTEX_PRIVATE_FLAG}).kind, Kind::value);
  EXPECT_EQ(by_command(SYS_fcntl, 2, {3, (std::uint64_t{1} << 32) | F_GETLK}).kind,
            Kind::inout_struct)
      << "a command is an int";
  EXPECT_EQ(
      by_command(SYS_quotactl, 3, {static_cast<std::uint32_t>(QCMD(Q_GETQUOTA, USRQUOTA))}).bytes,
      sizeof(dqblk));
  EXPECT_EQ(
      by_command(SYS_quotactl, 3, {static_cast<std::uint32_t>(QCMD(Q_GETQUOTA, GRPQUOTA))}).bytes,
      sizeof(dqblk));
  EXPECT_EQ(
      by_command(SYS_quotactl_fd, 3, {1, static_cast<std::uint32_t>(QCMD(Q_GETINFO, GRPQUOTA))})
          .bytes,
      sizeof(dqinfo));
  EXPECT_EQ(by_command(SYS_name_to_handle_at, 3, {0, 0, 0, 0, 0}).bytes, sizeof(int));
  EXPECT_EQ(by_command(SYS_name_to_handle_at, 3, {0, 0, 0, 0, 1}).bytes, sizeof(std::uint64_t));
}

TEST(Commands, tell_the_structures_of_ioctl) {
  EXPECT_EQ(by_command(SYS_ioctl, 2, {1, TIOCGWINSZ}).bytes, sizeof(winsize));
  EXPECT_EQ(by_command(SYS_ioctl, 2, {1, FIONREAD}).kind, Kind::out_struct);
  EXPECT_EQ(by_command(SYS_ioctl, 2, {1, RNDGETENTCNT}).bytes, sizeof(int));
  EXPECT_EQ(by_command(SYS_ioctl, 2, {1, BLKGETSIZE64}).bytes, sizeof(std::uint64_t));
  EXPECT_EQ(by_command(SYS_ioctl, 2, {1, SIOCGIFINDEX}).kind, Kind::inout_struct);
  EXPECT_EQ(by_command(SYS_ioctl, 2, {1, SIOCGIFINDEX}).bytes, sizeof(ifreq));
  EXPECT_EQ(by_command(SYS_ioctl, 2, {1, FITRIM}).bytes, sizeof(fstrim_range));
  EXPECT_EQ(by_command(SYS_ioctl, 2, {1, FICLONE}).kind, Kind::value) << "a descriptor";
  EXPECT_EQ(by_command(SYS_ioctl, 2, {1, TUNGETIFF}).bytes, sizeof(ifreq)) << "it encodes an int";
  EXPECT_EQ(by_command(SYS_ioctl, 2, {1, FBIOGET_VSCREENINFO}).kind, Kind::out_struct);
  EXPECT_EQ(by_command(SYS_ioctl, 2, {1, FBIOGET_VSCREENINFO}).bytes, sizeof(fb_var_screeninfo));
  EXPECT_EQ(by_command(SYS_ioctl, 2, {1, FBIOPUT_VSCREENINFO}).kind, Kind::inout_struct);
  EXPECT_EQ(by_command(SYS_ioctl, 2, {1, FBIOPUT_VSCREENINFO}).bytes, sizeof(fb_var_screeninfo));
  EXPECT_EQ(by_command(SYS_ioctl, 2, {1, FBIOGET_FSCREENINFO}).bytes, sizeof(fb_fix_screeninfo));
  EXPECT_EQ(by_command(SYS_ioctl, 2, {1, FBIOPAN_DISPLAY}).bytes, sizeof(fb_var_screeninfo));
  EXPECT_EQ(by_command(SYS_ioctl, 2, {1, KDGETMODE}).bytes, sizeof(int));
  EXPECT_EQ(by_command(SYS_ioctl, 2, {1, KDSETMODE}).kind, Kind::value);
}

TEST(Commands, leave_other_requests_of_ioctl_to_memory_of_the_host) {
  EXPECT_EQ(by_command(SYS_ioctl, 2, {1, FS_IOC_FIEMAP}).kind, Kind::opaque) << "it has a tail";
  EXPECT_EQ(by_command(SYS_ioctl, 2, {1, FS_IOC_FIEMAP}).bytes, sizeof(fiemap));
  EXPECT_EQ(by_command(SYS_ioctl, 2, {1, SIOCGIFCONF}).kind, Kind::opaque) << "it has a pointer";
  EXPECT_EQ(by_command(SYS_ioctl, 2, {1, SIOCGIFCONF}).bytes, 0) << "nobody knows its size";
  EXPECT_EQ(by_command(SYS_ioctl, 2, {1, 0xc0ff6b6b}).bytes, 0xff);
}

TEST(Commands, say_of_ioctl_what_its_numbers_encode_or_why_not) {
  for (const Command& command : commands) {
    if (command.number != SYS_ioctl || _IOC_DIR(command.command) == 0) continue;
    SCOPED_TRACE(command.command);
    const bool other_size =
        is_one_of_requests(command.command, {BLKBSZGET, TUNSETIFF, TUNGETIFF, FS_IOC_GETFLAGS,
                                             FS_IOC_SETFLAGS, FS_IOC_GETVERSION, FICLONE});
    if (other_size) continue;
    EXPECT_EQ(command.extent.bytes, _IOC_SIZE(command.command));
    const Kind by_direction = _IOC_DIR(command.command) == (_IOC_READ | _IOC_WRITE)
                                  ? Kind::inout_struct
                              : _IOC_DIR(command.command) == _IOC_READ ? Kind::out_struct
                                                                       : Kind::in_struct;
    EXPECT_EQ(command.extent.kind, by_direction);
  }
}

TEST(Commands, belong_to_arguments_that_a_command_decides) {
  for (const Command& command : commands) {
    const int row = find(command.number);
    ASSERT_GE(row, 0) << command.number;
    SCOPED_TRACE(rows[row].name);
    EXPECT_EQ(rows[row].parameters[command.parameter].kind, Kind::by_command);
    EXPECT_NE(command.selector, command.parameter);
    EXPECT_EQ(command.command & ~command.mask, 0u);
    EXPECT_LT(command.extent.size_from, parameter_count(rows[row]));
    if (is_nested(command.extent.kind)) {
      EXPECT_TRUE(may_be_nested(rows[row]));
    }
  }
  for (const Row& row : rows) {
    for (int index = 0; index < parameters_max; ++index) {
      if (row.parameters[index].kind != Kind::by_command) continue;
      EXPECT_GT(count_commands(row.number), 0) << row.name;
    }
  }
}

TEST(Rows, have_the_names_of_linux_or_of_the_manual) {
  const std::map<std::string, std::string> of_manual = {{"pread", "pread64"},
                                                        {"pwrite", "pwrite64"}};
  for (const Row& row : rows) {
    if (row.family == Family::own) continue;
    const auto found = of_manual.find(row.name);
    const Entry* const entry = entry_of(row.number);
    ASSERT_NE(entry, nullptr) << row.name;
    EXPECT_EQ(found == of_manual.end() ? row.name : found->second, entry->name);
  }
}

}  // namespace
}  // namespace k2k::calls
