// Shell completion scripts, generated from the command table.

enum CompletionScript: String, CaseIterable {
  case bash, zsh, fish

  func text(_ commands: [any Command.Type]) -> String {
    switch self {
    case .bash: bash(commands)
    case .zsh: zsh(commands)
    case .fish: fish(commands)
    }
  }

  private var topics: String { HelpTopic.allCases.map(\.rawValue).joined(separator: " ") }

  /// The option without the word for its value.
  private func names(of command: any Command.Type) -> [String] {
    command.allOptions.map { String($0.option.prefix { $0 != " " }) } + ["--help"]
  }

  private func bash(_ commands: [any Command.Type]) -> String {
    let cases = commands.map { "      \($0.name)) words=\"\(names(of: $0).joined(separator: " "))\" ;;" }
    return """
      # bash completion for dugout: source it, or put it into /etc/bash_completion.d
      _dugout() {
        local word="${COMP_WORDS[COMP_CWORD]}" words=""
        COMPREPLY=()
        if ((COMP_CWORD == 1)) || { ((COMP_CWORD == 2)) && [[ "${COMP_WORDS[1]}" == help ]]; }; then
          words="\(commands.map { $0.name }.joined(separator: " ")) help"
          if [[ "${COMP_WORDS[1]}" == help ]]; then words+=" \(topics)"; fi
        elif [[ "$word" == -* ]]; then
          case "${COMP_WORDS[1]}" in
      \(cases.joined(separator: "\n"))
          esac
        elif [[ "${COMP_WORDS[1]}" == index ]] && ((COMP_CWORD == 2)); then
          words="list create drop"
        elif [[ "${COMP_WORDS[1]}" == completions ]]; then
          words="\(Self.allCases.map(\.rawValue).joined(separator: " "))"
        else
          compopt -o filenames 2>/dev/null
          local IFS=$'\\n'
          COMPREPLY=($(compgen -f -- "$word"))
          return 0
        fi
        COMPREPLY=($(compgen -W "$words" -- "$word"))
        return 0
      }
      complete -F _dugout dugout
      """
  }

  private func zsh(_ commands: [any Command.Type]) -> String {
    let described = commands.map { "    \(quoted("\($0.name):\($0.summary)"))" }
    let cases = commands.map { command in
      let options = command.allOptions.map { option in
        let valueCount = option.option.count { $0 == " " }
        let name = option.option.prefix { $0 != " " }
        let meaning = option.meaning.filter { $0 != "[" && $0 != "]" && $0 != ":" }
        let again = option.option.hasSuffix("…") ? "*" : ""
        return quoted("\(again)\(name)[\(meaning)]" + String(repeating: ":value:", count: valueCount))
      }
      return "    \(command.name)) _arguments \((options + ["'*:file:_files'"]).joined(separator: " ")) ;;"
    }
    return """
      #compdef dugout
      # zsh completion for dugout: source it after compinit, or put it into a folder of $fpath under the name _dugout
      _dugout() {
        local -a commands
        commands=(
      \(described.joined(separator: "\n"))
        )
        if ((CURRENT == 2)); then
          _describe 'command' commands
          return
        fi
        local command="${words[2]}"
        shift words
        ((CURRENT--))
        case "$command" in
      \(cases.joined(separator: "\n"))
        esac
      }
      if [[ "${funcstack[1]}" == _dugout ]]; then
        _dugout "$@"
      else
        compdef _dugout dugout
      fi
      """
  }

  private func fish(_ commands: [any Command.Type]) -> String {
    var lines = ["# fish completion for dugout: put it into ~/.config/fish/completions/dugout.fish"]
    for command in commands {
      lines.append(
        "complete -c dugout -n __fish_use_subcommand -f -a \(command.name) -d \(quoted(command.summary))")
      for option in command.allOptions {
        let name = option.option.prefix { $0 != " " }.dropFirst(2)
        let value = option.option.contains(" ") ? " -x" : ""
        lines.append(
          "complete -c dugout -n '__fish_seen_subcommand_from \(command.name)' -l \(name)\(value) -d \(quoted(option.meaning))"
        )
      }
    }
    return lines.joined(separator: "\n")
  }

  private func quoted(_ text: String) -> String { ShellWord.alwaysQuoted(text) }
}
