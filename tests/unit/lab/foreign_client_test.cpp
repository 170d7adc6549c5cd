// Client files and commands: what is read, and what is refused with which words.
#include "lab/foreign_client.hpp"

#include <gmock/gmock.h>

namespace doxlab::lab {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Pair;

TEST(ClientFile, IsReadWhole) {
  const auto client = parse_foreign_client(R"(name = "mine"
summary = "one of my own"
package = "mine"
version = ["mine", "-V"]
options = ["group"]
zones = "z. 1 SOA a. b. 1 1 1 1 1"
[commands]
dot = ["mine", "@{{host}}:{{port}}", "{{qname}}"]
doq = ["mine", "-q", "{{groups}}"]
[environment]
MINE = "{{folder}}/x"
[forwarder]
port = 5300
ready = "up"
[[file]]
name = "mine.conf"
text = "stamp {{stamp}}"
)", "mine.toml");
  ASSERT_TRUE(client) << client.error().message;
  EXPECT_EQ(client->name, "mine");
  EXPECT_EQ(client->package, "mine");
  EXPECT_THAT(client->commands.at(Transport::Dot), ElementsAre("mine", "@{{host}}:{{port}}", "{{qname}}"));
  EXPECT_THAT(client->environment, ElementsAre(Pair("MINE", "{{folder}}/x")));
  EXPECT_EQ(client->listen_port, 5300);
  EXPECT_EQ(client->ready, "up");
  EXPECT_EQ(client->files.at(0).text, "stamp {{stamp}}");
  EXPECT_THAT(client->options, ElementsAre("group"));
  EXPECT_EQ(spoken_transports(*client), "dot, doq");
}

TEST(ClientFile, EveryBuiltInOneIsReadable) {
  EXPECT_THAT(built_in_foreign_clients(), ElementsAre("chromium", "curl", "dig", "dnscrypt-proxy", "kdig"));
  for (const auto& name : built_in_foreign_clients()) {
    const auto client = built_in_foreign_client(name);
    ASSERT_TRUE(client) << client.error().message;
    EXPECT_EQ(client->name, name);
    EXPECT_FALSE(client->package.empty());
  }
}

TEST(ClientFile, WhatIsWrongIsSaidWithItsLine) {
  const std::pair<const char*, const char*> cases[] = {
      {"name = 1", "mine.toml, line 1: 'name' must be a text"},
      {"colour = \"red\"", "line 1: 'colour' is no key of a client file"},
      {"name = \"a b\"\n[commands]\ndot = [\"x\"]", "letters, digits, '-' and '.' only"},
      {"name = \"a\"", "'commands' has no transport"},
      {"name = \"a\"\n[commands]\ndns = [\"x\"]", "line 3: 'dns' is no transport; they are do53"},
      {"name = \"a\"\n[commands]\ndot = []", "line 3: the command of dot has no program"},
      {"name = \"a\"\n[commands]\ndot = [\"x\", \"{{y}}\"]", "no value for {{y}}"},
      {"name = \"a\"\noptions = [\"start\"]\n[commands]\ndot = [\"x\"]", "'start' is no option that a client can follow"},
      {"name = \"a\"\n[commands]\ndot = [\"x\"]\n[forwarder]\nport = 70000", "line 5: the port of a forwarder"},
      {"name = \"a\"\n[commands]\ndot = [\"x\"]\n[forwarder]\nready = \"x\"", "a forwarder needs a 'port'"},
      {"name = \"a\"\n[commands]\ndot = [\"x\"]\n[[file]]\nname = \"../x\"\ntext = \"\"", "'../x' is no name for a file"},
      {"name = \"a\"\n[commands]\ndot = [\"x\"]\n[environment]\n\"a=b\" = \"\"", "'a=b' is no name of a variable"},
      {"name = ", "mine.toml, line 1:"}};
  for (const auto& [text, words] : cases) {
    const auto client = parse_foreign_client(text, "mine.toml");
    ASSERT_FALSE(client) << text;
    EXPECT_THAT(client.error().message, HasSubstr(words));
  }
}

TEST(ClientCommand, HasTheNameOfItsProgram) {
  EXPECT_EQ(foreign_client_of_command("/usr/bin/kdig @{{server}}")->name, "kdig");
  EXPECT_EQ(foreign_client_of_command("  q.py -x")->name, "q.py");
  EXPECT_EQ(foreign_client_of_command("$(x) {{qname}}")->name, "x");
  EXPECT_THAT(foreign_client_of_command("kdig @{{server}}")->commands, IsEmpty());
  EXPECT_FALSE(foreign_client_of_command(" \n"));
  EXPECT_THAT(foreign_client_of_command("x {{nobody}}").error().message, HasSubstr("{{nobody}}"));
  EXPECT_FALSE(foreign_client_of_command(std::string(5000, 'x')));
}

}  // namespace
}  // namespace doxlab::lab
