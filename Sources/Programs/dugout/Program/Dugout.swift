// The command-line program: its command table, and the mapping of failures to exit codes.

import DocumentStore
import Foundation

@main
struct Dugout {
  static let commands: [any Command.Type] = [
    QuickstartCommand.self, ShellCommand.self, ListCommand.self, GetCommand.self, SetCommand.self,
    UpdateCommand.self, DeleteCommand.self, QueryCommand.self, ExplainCommand.self, IndexCommand.self,
    ImportCommand.self,
    ExportCommand.self, WatchCommand.self, StatCommand.self, CheckCommand.self, BackupCommand.self,
    RestoreCommand.self, DiffCommand.self, CompactCommand.self, SalvageCommand.self, BenchCommand.self,
    ServeCommand.self, CompletionsCommand.self, ManCommand.self,
  ]

  static func main() async {
    var words: [String]
    do throws(CommandFailure) { words = try ProgramArguments.words() } catch {
      Terminal.printToStandardError("dugout: \(error.message)")
      exit(error.code.rawValue)
    }
    guard let first = words.first else {
      Terminal.print(Help.overview(commands))
      exit(ExitCode.usage.rawValue)
    }
    words.removeFirst()
    let code: ExitCode
    switch first {
    case "--help", "-h", "help": code = help(for: words.first)
    case "--version": code = version()
    default: code = await run(first, words)
    }
    exit(code.rawValue)
  }

  private static func help(for name: String?) -> ExitCode {
    guard let name, !["help", "--help", "-h"].contains(name) else {
      Terminal.print(Help.overview(commands))
      return .ok
    }
    if let topic = HelpTopic(rawValue: name) {
      Terminal.print(topic.page())
      return .ok
    }
    guard let command = commands.first(where: { $0.name == name }) else { return unknown(name) }
    Terminal.print(Help.page(command))
    return .ok
  }

  private static func version() -> ExitCode {
    Terminal.print("dugout \(Version.number) (store format \(Version.format), lz4 \(Version.lz4))")
    return .ok
  }

  private static func run(_ name: String, _ words: [String]) async -> ExitCode {
    guard let command = commands.first(where: { $0.name == name }) else { return unknown(name) }
    if words.contains("--help") || words.contains("-h") { return help(for: name) }
    do {
      let arguments = try Arguments(words, of: command)
      try await CreationNotice.$isSilenced.withValue(arguments.has(CreationNotice.option.option)) {
        try await command.run(arguments)
      }
      return .ok
    } catch let failure as CommandFailure {
      guard !failure.message.isEmpty else { return failure.code }
      let saysUsage = failure.message.contains(Help.usage(command))
      let hint = saysUsage ? "\n\"dugout \(name) --help\" has details." : ""
      Terminal.printToStandardError("dugout \(name): \(failure.message)\(hint)")
      return failure.code
    } catch {
      Terminal.printToStandardError("dugout \(name): \(error.localizedDescription)")
      return code(of: error)
    }
  }

  /// The code of an error that no command has translated.
  static func code(of error: any Error) -> ExitCode {
    switch error {
    case is PathError, is TextProblem: return .usage
    case let error as DocumentStoreError: return StoreAccess.exitCode(for: error)
    default: break
    }
    let isOfSystem = [NSCocoaErrorDomain, NSPOSIXErrorDomain].contains((error as NSError).domain)
    return isOfSystem ? .inputOutput : .checkFailed
  }

  private static func unknown(_ name: String) -> ExitCode {
    let near = commands.map { $0.name }.first { Wording.areOneTypoApart($0, name) }
    let guess = near.map { "Did you mean \($0)? " } ?? ""
    Terminal.printToStandardError(
      "dugout: there is no command \"\(name)\". \(guess)\"dugout --help\" lists them.")
    return .usage
  }
}
