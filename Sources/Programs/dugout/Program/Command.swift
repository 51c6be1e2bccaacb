// What a command is, and what can go wrong with one.

/// One row of the command table: its name, its help, and what it does.
protocol Command: SendableMetatype {
  static var name: String { get }
  static var summary: String { get }
  /// What follows the name on the command line.
  static var usage: String { get }
  /// Options and the sentence that explains each. One that takes a value has a word for it, `--limit N`, and one that
  /// may stand there several times has a word with dots: `--delete FIELD…`.
  static var options: [(option: String, meaning: String)] { get }
  static var positional: ClosedRange<Int> { get }
  /// What else one has to know before running it.
  static var notes: [String] { get }
  /// How its line reads in `dugout shell`.
  static var shellForm: ShellForm { get }
  static func run(_ arguments: Arguments) async throws
}

extension Command {
  static var notes: [String] { [] }
  static var shellForm: ShellForm { .words(directoryAt: 0) }
}

/// The codes that scripts rely on.
enum ExitCode: Int32 {
  case ok = 0
  case checkFailed = 1
  case usage = 2
  case badData = 65
  case unavailable = 69
  case inputOutput = 74
}

/// A command that could not do its work: the sentence for the user, and the code for scripts.
struct CommandFailure: Error {
  var code: ExitCode
  var message: String
}

/// An option as it stands on a command line: `--limit 5`, of which this is the first word, or `--limit=5`.
struct OptionWord {
  /// As the command has it: `--limit N`.
  let option: String
  let name: String
  /// Behind the sign.
  let value: String?

  /// Nil if the command has no such option.
  init?(_ word: String, of command: any Command.Type) {
    let parts = word.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false).map(String.init)
    guard let name = parts.first,
      let known = command.options.first(where: { $0.option.prefix { $0 != " " } == name })
    else { return nil }
    option = known.option
    self.name = name
    value = parts.count > 1 ? parts[1] : nil
  }

  var takesValue: Bool { option.contains(" ") }
}

/// The words after a command's name, sorted into options and the rest.
struct Arguments {
  let positional: [String]
  /// In the order in which they stand.
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
      // A lone hyphen stands for standard input or output.
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
      // Behind "--", which a shell puts there too, no option has anything to say.
      guard let value = known.value ?? (rest.first == "--" ? nil : rest.popFirst()) else {
        throw CommandFailure(code: .usage, message: "\(known.option) needs a value.")
      }
      options[known.name, default: []].append(value)
    }
    guard command.positional.contains(positional.count) else {
      let isCutApart = positional.count > command.positional.upperBound && command.usage.contains("QUERY")
      let hint =
        isCutApart
        ? "\nA query stands in quotes, so that the shell leaves it whole: 'users where age > 18'." : ""
      throw CommandFailure(code: .usage, message: "usage: \(Help.usage(command))\(hint)")
    }
    self.positional = positional
    self.options = options
  }

  func has(_ option: String) -> Bool { options[option] != nil }

  func value(of option: String) -> String? { options[option]?.last }

  func values(of option: String) -> [String] { options[option] ?? [] }
}
