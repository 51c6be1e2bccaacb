// The interface of a command, its arguments and its failures.

/// An entry of the command table: name, help and implementation.
protocol Command: SendableMetatype {
  static var name: String { get }
  static var summary: String { get }
  /// The text after the name in the usage line.
  static var usage: String { get }
  /// The options, each with its description. An option that takes values ends with a placeholder for each
  /// value, as in `--limit N` and `--tls CERT KEY`. The placeholder of a repeatable option ends with dots, as
  /// in `--delete FIELD…`.
  static var options: [(option: String, meaning: String)] { get }
  static var positional: ClosedRange<Int> { get }
  /// Additional help text.
  static var notes: [String] { get }
  /// The form of the command's line in `dugout shell`.
  static var shellForm: ShellForm { get }
  static func run(_ arguments: Arguments) async throws
}

extension Command {
  static var notes: [String] { [] }
  static var shellForm: ShellForm { .words(directoryAt: 0) }

  /// The options of the command, and those that it shares with others.
  static var allOptions: [(option: String, meaning: String)] {
    CreationNotice.commands.contains(name) ? options + [CreationNotice.option] : options
  }

  /// The usage with the shared options.
  static var fullUsage: String {
    guard CreationNotice.commands.contains(name) else { return usage }
    return usage + " [\(CreationNotice.option.option)]"
  }
}

/// The exit codes, on which scripts rely.
enum ExitCode: Int32 {
  case ok = 0
  case checkFailed = 1
  case usage = 2
  case badData = 65
  case unavailable = 69
  case inputOutput = 74
}

/// A failed command: the message for the user and the exit code. An empty message is not printed, because the
/// output has said all.
struct CommandFailure: Error {
  var code: ExitCode
  var message: String
}

/// An option on a command line: the first word of `--limit 5`, or `--limit=5`.
struct OptionWord {
  /// The option in the command's form: `--limit N`.
  let option: String
  let name: String
  /// The value after the equals sign.
  let value: String?

  /// Returns nil if the command has no such option.
  init?(_ word: String, of command: any Command.Type) {
    let parts = word.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false).map(String.init)
    guard let name = parts.first,
      let known = command.allOptions.first(where: { $0.option.prefix { $0 != " " } == name })
    else { return nil }
    option = known.option
    self.name = name
    value = parts.count > 1 ? parts[1] : nil
  }

  var takesValue: Bool { valueCount > 0 }

  /// The number of values that follow the name.
  var valueCount: Int { option.count { $0 == " " } }
}

/// The words after a command's name, divided into options and positional arguments.
struct Arguments {
  let positional: [String]
  /// The values of each option, in order.
  private let options: [String: [String]]

  init(_ words: [String], of command: any Command.Type) throws {
    var positional: [String] = []
    var options: [String: [String]] = [:]
    var rest = words[...]
    while let word = rest.popFirst() {
      guard word != "--" else {
        positional += rest
        break
      }
      // A single hyphen means standard input or output.
      guard word.hasPrefix("-"), word != "-" else {
        positional.append(word)
        continue
      }
      guard let known = OptionWord(word, of: command) else {
        throw CommandFailure(
          code: .usage, message: "there is no option \(word). Usage: \(Help.usage(command))")
      }
      guard known.takesValue else {
        guard known.value == nil else {
          throw CommandFailure(code: .usage, message: "\(known.name) takes no value.")
        }
        options[known.name] = []
        continue
      }
      var values = known.value.map { [$0] } ?? []
      while values.count < known.valueCount {
        // "--" ends the options, even where an option still needs its value. The shell, too, inserts "--".
        guard let value = rest.first == "--" ? nil : rest.popFirst() else {
          let need = known.valueCount == 1 ? "a value" : "\(known.valueCount) values"
          throw CommandFailure(code: .usage, message: "\(known.option) needs \(need).")
        }
        values.append(value)
      }
      options[known.name, default: []] += values
    }
    guard command.positional.contains(positional.count) else {
      let isCutApart = positional.count > command.positional.upperBound && command.usage.contains("QUERY")
      let hint =
        isCutApart
        ? "\nPut a query in quotes, so that the shell keeps it whole: 'users where age > 18'." : ""
      throw CommandFailure(code: .usage, message: "usage: \(Help.usage(command))\(hint)")
    }
    self.positional = positional
    self.options = options
  }

  func has(_ option: String) -> Bool { options[option] != nil }

  func value(of option: String) -> String? { options[option]?.last }

  func values(of option: String) -> [String] { options[option] ?? [] }
}
