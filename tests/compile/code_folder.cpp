#include <fcntl.h>
#include <fmt/format.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <fstream>
#include <random>
#include <thread>

#include "tenon/compile/cache/folder.h"

namespace tenon {
namespace {

namespace fs = std::filesystem;

class CodeFolderTest : public testing::Test {
 protected:
  CodeFolderTest() : path_(fs::path(testing::TempDir()) / fmt::format("code.{}", ::getpid())) { fs::remove_all(path_); }
  ~CodeFolderTest() override { fs::remove_all(path_); }
  static Hash128 key(std::uint64_t n) { return Hasher()(n).finish(); }
  fs::path file_of(std::uint64_t n) const { return path_ / (key(n).hex() + ".code"); }
  fs::path path_;
};

TEST_F(CodeFolderTest, KeepsWhatIsStored) {
  const CodeFolder folder(path_, 1 << 20);
  EXPECT_EQ(folder.why_unused(), "");
  EXPECT_EQ(folder.find(key(1)), std::nullopt);
  folder.store(key(1), "one", std::string(5000, 'x'));
  folder.store(key(2), "two", "");
  EXPECT_EQ(folder.find(key(1)), std::string(5000, 'x'));
  EXPECT_EQ(folder.find(key(2)), "");
  folder.store(key(1), "one", "other");
  EXPECT_EQ(CodeFolder(path_, 1 << 20).find(key(1)), "other");
  EXPECT_EQ(folder.list().size(), 2u);
  EXPECT_EQ(folder.clear(), 2u);
  EXPECT_EQ(folder.find(key(1)), std::nullopt);
}

TEST_F(CodeFolderTest, IsClosedToOthers) {
  const CodeFolder folder(path_, 1 << 20);
  folder.store(key(1), "one", "content");
  struct stat s{};
  ASSERT_EQ(::stat(path_.c_str(), &s), 0);
  EXPECT_EQ(s.st_mode & 0777, 0700u);
  for (const mode_t mode : {0750, 0705, 0777}) {
    ::chmod(path_.c_str(), mode);
    EXPECT_EQ(folder.find(key(1)), std::nullopt);
    EXPECT_NE(folder.why_unused().find("mode 0700"), std::string::npos);
  }
  ::chmod(path_.c_str(), 0700);
  EXPECT_EQ(folder.find(key(1)), "content");
  ::chmod(file_of(1).c_str(), 0622);  // others may have written it
  EXPECT_EQ(folder.find(key(1)), std::nullopt);
  EXPECT_FALSE(fs::exists(file_of(1)));
}

TEST_F(CodeFolderTest, FollowsNoLinks) {
  const CodeFolder folder(path_, 1 << 20);
  folder.store(key(1), "one", "content");
  fs::create_symlink(file_of(1), file_of(2));
  EXPECT_EQ(folder.find(key(2)), std::nullopt);
  const fs::path link = path_.string() + ".link";
  fs::remove(link);
  fs::create_directory_symlink(path_, link);
  EXPECT_EQ(CodeFolder(link, 1 << 20).find(key(1)), std::nullopt);
  fs::remove(link);
}

TEST_F(CodeFolderTest, BrokenFilesAreAbsent) {
  const CodeFolder folder(path_, 1 << 20);
  std::mt19937 random(1);
  for (int i = 0; i < 200; ++i) {
    folder.store(key(1), "title", std::string(100, 'x'));
    const auto size = static_cast<std::int64_t>(fs::file_size(file_of(1)));
    if (i % 3 == 0) {
      fs::resize_file(file_of(1), random() % static_cast<unsigned>(size));
    } else if (i % 3 == 1) {
      std::fstream(file_of(1), std::ios::in | std::ios::out).seekp(random() % static_cast<unsigned>(size)).put('!');
    } else {
      std::ofstream(file_of(1), std::ios::app) << "more";
    }
    EXPECT_EQ(folder.find(key(1)), std::nullopt);
    EXPECT_FALSE(fs::exists(file_of(1)));
  }
  folder.store(key(1), "title", "x");
  fs::copy_file(file_of(1), file_of(2));  // of another key
  EXPECT_EQ(folder.list().size(), 2u);
  EXPECT_EQ(folder.remove_broken(), 1u);
  EXPECT_EQ(folder.find(key(1)), "x");
}

TEST_F(CodeFolderTest, WhatWasUsedLastStays) {
  const CodeFolder folder(path_, 256 << 10);
  const timespec past[] = {{1'000'000'000, 0}, {1'000'000'000, 0}};
  for (std::uint64_t n = 0; n < 200; ++n) {
    folder.store(key(n), "x", std::string(3000, 'x'));
    ::utimensat(AT_FDCWD, file_of(n).c_str(), past, 0);
    EXPECT_TRUE(folder.find(key(0)));  // which is used now
  }
  const auto entries = folder.list();
  EXPECT_LE(entries.size() * 4096, (256u << 10) * 9 / 8);
  EXPECT_GE(entries.size() * 4096, (256u << 10) / 2);
  EXPECT_EQ(entries.front().name, key(0).hex() + ".code");
}

TEST_F(CodeFolderTest, ManyWriteAtOnce) {
  const CodeFolder folder(path_, 64 << 20);
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t)
    threads.emplace_back([&] {
      for (std::uint64_t i = 0; i < 200; ++i) {
        const std::uint64_t n = i % 10;
        folder.store(key(n), "x", std::string(1000 + 1000 * n, static_cast<char>('a' + n)));
        const auto found = folder.find(key(n));
        EXPECT_TRUE(found && *found == std::string(1000 + 1000 * n, static_cast<char>('a' + n)));
      }
    });
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(folder.list().size(), 10u);
}

TEST_F(CodeFolderTest, PlacesWhereNothingCanBeWritten) {
  for (const char* path : {"/proc/tenon", "/dev/null/tenon", "/dev/null", ""}) {
    const CodeFolder folder(path, 1 << 20);
    folder.store(key(1), "x", "content");
    EXPECT_EQ(folder.find(key(1)), std::nullopt);
    EXPECT_NE(folder.why_unused(), "") << path;
    EXPECT_TRUE(folder.list().empty());
    EXPECT_EQ(folder.clear(), 0u);
  }
}

}  // namespace
}  // namespace tenon
