// What a command is, and what can go wrong with one.

/// One row of the command table: its name, its help, and what it does.
protocol Command: SendableMetatype {
  static var name: String { get }
  static var summary: String { get }
  /// What follows the name on the command line.
  static var usage: String { get }
  /// Options and the sentence that explains each. One that takes a value has a word for it: `--limit N`.
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

/// The words after a command's name, sorted into options and the rest.
struct Arguments {
  let positional: [String]
  private let options: [String: String]

  init(_ words: [String], of command: any Command.Type) throws {
    var positional: [String] = []
    var options: [String: String] = [:]
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
      guard let known = command.options.first(where: { $0.option.prefix { $0 != " " } == word }) else {
        throw CommandFailure(
          code: .usage, message: "there is no option \(word). Usage: \(Help.usage(command))")
      }
      guard known.option.contains(" ") else {
        options[word] = ""
        continue
      }
      guard let value = rest.popFirst() else {
        throw CommandFailure(code: .usage, message: "\(known.option) needs a value.")
      }
      options[word] = value
    }
    guard command.positional.contains(positional.count) else {
      throw CommandFailure(code: .usage, message: "usage: \(Help.usage(command))")
    }
    self.positional = positional
    self.options = options
  }

  func has(_ option: String) -> Bool { options[option] != nil }

  func value(of option: String) -> String? { options[option] }
}
