// What a command is, and what can go wrong with one.

/// One row of the command table: its name, its help, and what it does.
protocol Command: SendableMetatype {
  static var name: String { get }
  static var summary: String { get }
  /// What follows the name on the command line.
  static var usage: String { get }
  /// Options and the sentence that explains each.
  static var options: [(option: String, meaning: String)] { get }
  static var positional: ClosedRange<Int> { get }
  /// What else one has to know before running it.
  static var notes: [String] { get }
  static func run(_ arguments: Arguments) async throws
}

extension Command {
  static var notes: [String] { [] }
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
  private let options: Set<String>

  init(_ words: [String], of command: any Command.Type) throws {
    let known = Set(command.options.map(\.option))
    let literal = words.firstIndex(of: "--") ?? words.endIndex
    options = Set(words[..<literal].filter { $0.hasPrefix("-") })
    positional = words[..<literal].filter { !$0.hasPrefix("-") } + words[literal...].dropFirst()
    if let stranger = options.subtracting(known).min() {
      throw CommandFailure(
        code: .usage, message: "there is no option \(stranger). Usage: \(Help.usage(command))")
    }
    guard command.positional.contains(positional.count) else {
      throw CommandFailure(code: .usage, message: "usage: \(Help.usage(command))")
    }
  }

  func has(_ option: String) -> Bool { options.contains(option) }
}
