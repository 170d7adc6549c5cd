// The file of a sweep: what an interruption may leave of it, and who may go on with it.
#include "experiment/sweep_file.hpp"

#include <gmock/gmock.h>
#include <sys/resource.h>

#include <csignal>
#include <random>

#include "support/temporary_folder.hpp"
#include "unit/results/runs.hpp"

namespace doxlab::experiment {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

/// Opens and gives the cells that are there, or the error.
std::string open_error(const std::string& path, const results::SweepHeader& header) {
  const auto file = SweepFile::open(path, header, {});
  return file ? "opened" : file.error().message;
}

TEST(SweepFile, GoesOnAfterTheCellsThatAreThere) {
  const test::TemporaryFolder folder;
  const auto path = folder.file("sweep.ndjson");
  const auto header = test::sweep_header();
  {
    auto file = SweepFile::open(path, header, {});
    ASSERT_TRUE(file) << file.error().message;
    EXPECT_THAT(file->cells(), IsEmpty());
    file->append(test::sweep_cell(header, 4));
    file->append(test::sweep_cell(header, 0));
  }
  std::vector<std::uint64_t> seen;
  auto file = SweepFile::open(path, header,
                              [&](results::SweepCell&& cell, auto, auto) { seen.push_back(cell.cell); });
  ASSERT_TRUE(file) << file.error().message;
  EXPECT_THAT(seen, ElementsAre(4, 0));
  EXPECT_THAT(file->cells(), ElementsAre(0, 4));
  EXPECT_FALSE(file->was_torn());
  file->append(test::sweep_cell(header, 5));
  const auto contents = read_sweep_file(path, {});
  ASSERT_TRUE(contents) << contents.error().message;
  EXPECT_THAT(contents->cells, ElementsAre(0, 4, 5));
}

// Wherever the machine stopped, what was finished is kept, and the rest can be written again.
TEST(SweepFile, AnyPrefixOfAFileCanBeGoneOnWith) {
  const test::TemporaryFolder folder;
  const auto path = folder.file("whole");
  const auto header = test::sweep_header();
  {
    auto file = SweepFile::open(path, header, {});
    ASSERT_TRUE(file);
    for (std::uint64_t cell = 0; cell < 6; ++cell) file->append(test::sweep_cell(header, cell));
  }
  const auto whole = folder.read("whole");
  const std::uint64_t seed = 7;
  RecordProperty("seed", std::to_string(seed));
  std::mt19937_64 random(seed);
  std::vector<std::size_t> lengths = {0, 1, whole.find('\n'), whole.find('\n') + 1, whole.size() - 1};
  for (int i = 0; i < 40; ++i) lengths.push_back(random() % whole.size());
  for (const auto length : lengths) {
    SCOPED_TRACE(length);
    const auto part = folder.write("part", whole.substr(0, length));
    auto file = SweepFile::open(part, header, {});
    ASSERT_TRUE(file) << file.error().message;
    const auto lines = std::ranges::count(whole.substr(0, length), '\n');
    EXPECT_EQ(file->cells().size(), static_cast<std::size_t>(std::max<std::ptrdiff_t>(lines - 1, 0)));
    for (std::uint64_t cell = 0; cell < 6; ++cell)
      if (!file->cells().contains(cell)) file->append(test::sweep_cell(header, cell));
    EXPECT_EQ(folder.read("part"), whole);
  }
}

TEST(SweepFile, RefusesAnotherSweepAndLeavesTheFileAlone) {
  const test::TemporaryFolder folder;
  const auto path = folder.file("sweep.ndjson");
  ASSERT_EQ(open_error(path, test::sweep_header(results::Shard{0, 2})), "opened");
  const auto before = folder.read("sweep.ndjson");
  auto other = test::sweep_header(results::Shard{0, 2});
  other.grid[0].values.push_back("200");
  other.fingerprint = results::fingerprint(other);
  EXPECT_THAT(open_error(path, other),
              testing::AllOf(HasSubstr(path),
                             HasSubstr("holds another sweep: the grid is delay=5,20,100 loss=0,2 in one"),
                             HasSubstr("give another --out")));
  EXPECT_THAT(open_error(path, test::sweep_header(results::Shard{1, 2})),
              HasSubstr("holds shard 0/2, not shard 1/2"));
  EXPECT_THAT(open_error(path, test::sweep_header()), HasSubstr("holds shard 0/2, not the whole"));
  EXPECT_EQ(folder.read("sweep.ndjson"), before);
}

TEST(SweepFile, RefusesWhatIsNoSweepAndLeavesItAlone) {
  const test::TemporaryFolder folder;
  const auto header = test::sweep_header();
  for (const std::string text :
       {"precious notes\n", "precious notes without line feed", "{}\n", "\n", "{\"schema_version\":1}\n"}) {
    const auto path = folder.write("notes", text);
    EXPECT_NE(open_error(path, header), "opened") << text;
    EXPECT_EQ(folder.read("notes"), text);
  }
  EXPECT_THAT(open_error(folder.path(), header), HasSubstr("directory"));
  EXPECT_THAT(open_error(folder.file("no/such/folder"), header), HasSubstr("No such file"));
}

TEST(SweepFile, SaysInWhichLineItIsBroken) {
  const test::TemporaryFolder folder;
  const auto header = test::sweep_header();
  const auto cell = results::to_json_line(test::sweep_cell(header, 2));
  const auto start = results::to_json_line(header) + '\n';
  EXPECT_THAT(
      open_error(folder.write("a", start + cell + '\n' + cell.substr(0, 300) + '\n' + cell + '\n'), header),
      HasSubstr("a, line 3: "));
  EXPECT_THAT(open_error(folder.write("b", start + cell + '\n' + cell + '\n'), header),
              HasSubstr("b, line 3: cell 2 is there twice"));
}

TEST(SweepFile, OneProcessAtATimeHasIt) {
  const test::TemporaryFolder folder;
  const auto path = folder.file("sweep.ndjson");
  const auto file = SweepFile::open(path, test::sweep_header(), {});
  ASSERT_TRUE(file);
  EXPECT_THAT(open_error(path, test::sweep_header()), HasSubstr("another doxlab sweep is writing it"));
}

TEST(SweepFile, DevicesAreRefused) {
  EXPECT_THAT(open_error("/dev/full", test::sweep_header()), HasSubstr("no regular file"));
  EXPECT_THAT(open_error("/dev/zero", test::sweep_header()), HasSubstr("no regular file"));
}

// A limit on the size of files stands for a disk that is full.
TEST(SweepFile, ACellThatDoesNotFitIsToldAndLeavesNothingHalf) {
  const test::TemporaryFolder folder;
  const auto header = test::sweep_header();
  auto file = SweepFile::open(folder.file("sweep.ndjson"), header, {});
  ASSERT_TRUE(file);
  file->append(test::sweep_cell(header, 0));
  const auto before = folder.read("sweep.ndjson");
  rlimit limit{};
  ASSERT_EQ(::getrlimit(RLIMIT_FSIZE, &limit), 0);
  const rlimit small{.rlim_cur = before.size() + 100, .rlim_max = limit.rlim_max};
  const auto old_handler = std::signal(SIGXFSZ, SIG_IGN);
  ASSERT_EQ(::setrlimit(RLIMIT_FSIZE, &small), 0);
  EXPECT_THROW(file->append(test::sweep_cell(header, 1)), std::runtime_error);
  EXPECT_EQ(::setrlimit(RLIMIT_FSIZE, &limit), 0);
  std::signal(SIGXFSZ, old_handler);
  EXPECT_EQ(folder.read("sweep.ndjson"), before);
  file->append(test::sweep_cell(header, 1));
  EXPECT_EQ(folder.read("sweep.ndjson"), before + results::to_json_line(test::sweep_cell(header, 1)) + '\n');
}

}  // namespace
}  // namespace doxlab::experiment
