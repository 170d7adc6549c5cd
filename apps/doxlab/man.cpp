#include <memory>

#include "commands.hpp"
#include "files.hpp"
#include "manual.hpp"

namespace doxlab::app {

Command add_man(CLI::App& parent) {
  auto* command = parent.add_subcommand("man", "The manual page, to be read with man -l");
  command->footer("Example:\n  doxlab man > doxlab.1 && man -l doxlab.1");
  return {command,
          [&parent](const Invocation&) {
            write_output("-", manual_page(parent));
            return kOk;
          },
          [] { return false; }};
}

Command add_completion(CLI::App& parent) {
  auto* command = parent.add_subcommand("completion", "What completes doxlab's commands and options in a shell");
  auto shell = std::make_shared<std::string>();
  command->add_option("SHELL", *shell, "bash, zsh or fish")->check(CLI::IsMember({"bash", "zsh", "fish"}))->required();
  command->footer(
      "Examples:\n"
      "  doxlab completion bash > ~/.local/share/bash-completion/completions/doxlab\n"
      "  doxlab completion zsh > ~/.zfunc/_doxlab\n"
      "  doxlab completion fish > ~/.config/fish/completions/doxlab.fish");
  return {command,
          [&parent, shell](const Invocation&) {
            write_output("-", *shell == "fish" ? fish_completion(parent) : *shell == "zsh" ? zsh_completion(parent) : bash_completion(parent));
            return kOk;
          },
          [] { return false; }};
}

}  // namespace doxlab::app
