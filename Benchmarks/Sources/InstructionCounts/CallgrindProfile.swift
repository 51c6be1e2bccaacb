// Reads the files that callgrind writes.
//
//   file  = lines "key: value" and cost lines, in blocks of one function
//   block = "fn=" name, then cost lines "position count" and calls
//   call  = "cfn=" name, then "calls=" count position, then one cost line
//   name  = "(number) text" at its first use, later "(number)"
//   text  = the function's name, "@@" and a version of the library, "'" and a depth of recursion
//
// `totals:` has the sum of all cost lines except those of calls. All other lines are ignored.

/// The counts of one profile.
package struct CallgrindProfile: Sendable {
  package struct Call: Hashable, Sendable {
    package var caller: String
    package var callee: String
  }

  /// The number of executed instructions.
  package private(set) var instructions = 0
  package private(set) var calls: [Call: Int] = [:]
  /// The option and the function that caused the profile to be written; empty at the end of the program.
  package private(set) var trigger = ""

  /// Throws if the text is no whole profile of instructions.
  package init(_ text: String) throws(InstructionError) {
    var names: [Substring: String] = [:]
    var (function, callee) = ("", "")
    var (countsInstructions, total) = (false, Int?.none)
    for line in text.split(separator: "\n") {
      guard let mark = line.firstIndex(where: { $0 == "=" || $0 == ":" }) else { continue }
      let value = line[line.index(after: mark)...].drop { $0 == " " }
      switch line[...mark] {
      case "fn=": function = try Self.name(value, &names)
      case "cfn=": callee = try Self.name(value, &names)
      case "calls=":
        guard let count = Int(value.prefix { $0 != " " }) else { throw .unreadable(String(line)) }
        calls[Call(caller: function, callee: callee), default: 0] += count
      case "desc:": if value.hasPrefix("Trigger: --") { trigger = String(value.dropFirst("Trigger: ".count)) }
      case "events:": countsInstructions = value == "Ir"
      case "totals:": total = Int(value)
      default: break
      }
    }
    guard countsInstructions, let total else { throw .incompleteProfile }
    instructions = total
  }

  /// Returns the number of calls of these functions. A call from one of them to another does not count,
  /// because it belongs to the call of the first one.
  package func calls(of functions: Set<String>) -> Int {
    calls.reduce(0) { sum, entry in
      let (call, count) = entry
      return functions.contains(call.callee) && !functions.contains(call.caller) ? sum + count : sum
    }
  }

  private static func name(
    _ value: Substring, _ names: inout [Substring: String]
  ) throws(InstructionError) -> String {
    guard value.first == "(", let end = value.firstIndex(of: ")") else { return function(value) }
    let number = value[...end]
    let text = value[value.index(after: end)...].drop { $0 == " " }
    if !text.isEmpty { names[number] = function(text) }
    guard let name = names[number] else { throw .unreadable(String(value)) }
    return name
  }

  /// The name without a version and without a depth of recursion.
  private static func function(_ text: Substring) -> String {
    var name = text
    if let mark = name.lastIndex(of: "'"), name[mark...].dropFirst().allSatisfy(\.isNumber) {
      name = name[..<mark]
    }
    if let version = name.firstRange(of: "@@"), version.lowerBound > name.startIndex {
      name = name[..<version.lowerBound]
    }
    return String(name)
  }
}

package enum InstructionError: Error, Equatable, CustomStringConvertible {
  case incompleteProfile
  case unreadable(String)
  case unreadablePin(line: Int, String)

  package var description: String {
    switch self {
    case .incompleteProfile: "callgrind has not written a whole profile"
    case .unreadable(let text): "callgrind's profile has an unknown line: \(text)"
    case .unreadablePin(let line, let text): "line \(line) of the pins is unreadable: \(text)"
    }
  }
}
