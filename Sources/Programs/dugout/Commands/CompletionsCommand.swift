// dugout completions SHELL: prints the completion script for a shell.

enum CompletionsCommand: Command {
  static let name = "completions"
  static let summary = "Prints a completion script for bash, zsh or fish"
  static let usage = "bash|zsh|fish"
  static let options: [(option: String, meaning: String)] = []
  static let positional = 1...1
  static let notes = [
    "bash, in ~/.bashrc:",
    "  source <(dugout completions bash)",
    "zsh, in ~/.zshrc, after \"autoload -U compinit && compinit\":",
    "  source <(dugout completions zsh)",
    "fish, once:",
    "  dugout completions fish > ~/.config/fish/completions/dugout.fish",
  ]
  static let shellForm = ShellForm.none

  static func run(_ arguments: Arguments) async throws {
    guard let script = CompletionScript(rawValue: arguments.positional[0]) else {
      throw CommandFailure(
        code: .usage,
        message: "there are completions for bash, zsh and fish, not for \(arguments.positional[0]).")
    }
    Terminal.print(script.text(Dugout.commands))
  }
}
