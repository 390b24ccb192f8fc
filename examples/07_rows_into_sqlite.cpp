// Rows into a database: work-items call a function of the program that inserts into SQLite.
//
// The function is a host function that may block: it runs on threads of its own, and the database
// has a lock. What SQLite refuses is an errno for the work-item. Needs libsqlite3-dev.

#include <sqlite3.h>

#include <cerrno>
#include <cstdio>
#include <k2k/device.hpp>
#include <k2k/runtime.hpp>
#include <mutex>
#include <string>

namespace {

constexpr std::uint32_t groups = 8;
constexpr std::uint32_t items = 32;

struct Row {
  std::uint64_t item;
  double value;
};
constexpr k2k::HostFunction<std::int64_t(Row, k2k::In<char>)> insert_row{"insert_row"};

class Database {
 public:
  Database() {
    is_open_ = ::sqlite3_open(":memory:", &database_) == SQLITE_OK &&
               execute("CREATE TABLE results (item INTEGER PRIMARY KEY, value REAL, name TEXT)") &&
               ::sqlite3_prepare_v2(database_, "INSERT INTO results VALUES (?, ?, ?)", -1, &insert_,
                                    nullptr) == SQLITE_OK;
  }
  ~Database() {
    ::sqlite3_finalize(insert_);
    ::sqlite3_close(database_);
  }
  Database(const Database&) = delete;
  Database& operator=(const Database&) = delete;

  [[nodiscard]] bool is_open() const { return is_open_; }

  // The row's number; EEXIST: the item has a row already.
  k2k::Result<std::int64_t> insert(const Row& row, k2k::In<char> name) {
    const std::lock_guard lock(mutex_);
    ::sqlite3_bind_int64(insert_, 1, static_cast<sqlite3_int64>(row.item));
    ::sqlite3_bind_double(insert_, 2, row.value);
    ::sqlite3_bind_text(insert_, 3, name.data, static_cast<int>(name.size()), SQLITE_TRANSIENT);
    const int result = ::sqlite3_step(insert_);
    ::sqlite3_reset(insert_);
    if (result == SQLITE_DONE) return ::sqlite3_last_insert_rowid(database_);
    return k2k::Error{result == SQLITE_CONSTRAINT ? EEXIST : EIO, ::sqlite3_errmsg(database_)};
  }

  // The first column of the first row, as text.
  std::string ask(const char* question) {
    const std::lock_guard lock(mutex_);
    sqlite3_stmt* statement = nullptr;
    std::string answer;
    if (::sqlite3_prepare_v2(database_, question, -1, &statement, nullptr) == SQLITE_OK &&
        ::sqlite3_step(statement) == SQLITE_ROW) {
      const unsigned char* const text = ::sqlite3_column_text(statement, 0);
      if (text != nullptr) answer = reinterpret_cast<const char*>(text);
    }
    ::sqlite3_finalize(statement);
    return answer;
  }

 private:
  bool execute(const char* statement) {
    return ::sqlite3_exec(database_, statement, nullptr, nullptr, nullptr) == SQLITE_OK;
  }

  sqlite3* database_ = nullptr;
  sqlite3_stmt* insert_ = nullptr;
  bool is_open_ = false;
  std::mutex mutex_;
};

struct Outcome {
  std::uint32_t inserted;
  std::uint32_t refused;
};

}  // namespace

int main() {
  Database database;  // Outlives the runtime, whose functions use it.
  if (!database.is_open()) return std::fprintf(stderr, "no database in memory\n"), 1;
  auto runtime = k2k::Runtime::create({.backend = k2k::kernel_backend});
  if (!runtime) return std::fprintf(stderr, "%s\n", runtime.error().message.c_str()), 1;
  const k2k::Status provided = runtime->provide(
      insert_row, [&](Row row, k2k::In<char> name) { return database.insert(row, name); });
  if (!provided) return std::fprintf(stderr, "%s\n", provided.error().message.c_str()), 1;

  auto* const outcome = static_cast<Outcome*>(runtime->allocate_shared(sizeof(Outcome)).value());
  const auto insert = insert_row;  // A kernel on a GPU gets a copy.
  auto report = runtime->launch({groups, items}, [=] K2K_DEVICE {
    const Row row{k2k::global_rank(), static_cast<double>(k2k::global_rank()) / 4};
    const char name[] = {'i', 't', 'e', 'm', ' ', static_cast<char>('a' + k2k::item_rank() % 26)};
    const auto first = k2k::host_call(k2k::work_item, insert, row, k2k::in(&name[0], sizeof(name)));
    if (first.ok()) k2k::AtomicRef(outcome->inserted).fetch_add(1);
    // A second row for the same item.
    if (k2k::item_rank() != 0) return;
    const auto second =
        k2k::host_call(k2k::work_item, insert, row, k2k::in(&name[0], sizeof(name)));
    if (second.error() == EEXIST) k2k::AtomicRef(outcome->refused).fetch_add(1);
  });
  if (!report) return std::fprintf(stderr, "%s\n", report.error().message.c_str()), 1;

  const std::string count = database.ask("SELECT count(*) FROM results");
  const std::string sum = database.ask("SELECT sum(value) FROM results");
  const std::string name = database.ask("SELECT name FROM results WHERE item = 33");
  std::printf("%s rows, sum of values %s, item 33 is '%s'; %u inserted, %u refused\n",
              count.c_str(), sum.c_str(), name.c_str(), outcome->inserted, outcome->refused);
  const bool right = outcome->inserted == groups * items && outcome->refused == groups &&
                     count == "256" && sum == "8160.0" && name == "item b";
  runtime->free_shared(outcome);
  return right ? 0 : 1;
}
