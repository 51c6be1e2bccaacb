// The text form of paths.
//
//   path := ["/"] name ("/" name)* ["/"]
//   name := letters | "`" letters "`"        between backticks, a backslash escapes the next letter; a
//   backtick
//                                            in any other place is a letter
//
// In a query, a space ends a path. On the command line an argument is a whole path, with or without
// backticks.

import ByteStore
import DocumentStore

struct PathText {
  /// The parts between the slashes, including empty ones.
  private(set) var names: [String] = []
  /// Whether a backtick opens a name and no backtick ends it.
  private(set) var isOpen = false

  /// Splits at scalars, because a slash with a combining mark is one character that differs from a slash.
  init(_ text: String) {
    var name = ""
    var isEscaped = false
    let scalars = Array(text.unicodeScalars)
    for (place, scalar) in scalars.enumerated() {
      let isFirst = place == 0 || scalars[place - 1] == "/"
      let isLast = place + 1 == scalars.count || scalars[place + 1] == "/"
      switch scalar {
      case _ where isEscaped:
        name.unicodeScalars.append(scalar)
        isEscaped = false
      case "\\" where isOpen: isEscaped = true
      case "`" where isOpen ? isLast : isFirst: isOpen.toggle()
      case "/":
        names.append(name)
        name = ""
      default: name.unicodeScalars.append(scalar)
      }
    }
    names.append(name)
  }

  /// Returns the segments of a path; empty for an empty text.
  static func segments(_ text: String) throws(TextProblem) -> [String] {
    let path = PathText(text)
    guard !path.isOpen else {
      throw TextProblem(message: "a backtick opens a name and none closes it", place: 0)
    }
    var segments = path.names[...]
    // A slash at the start and one at the end are ignored.
    if segments.first?.isEmpty == true { segments.removeFirst() }
    if segments.last?.isEmpty == true { segments.removeLast() }
    guard !segments.contains(where: \.isEmpty) else {
      throw TextProblem(message: "a name must not be empty", place: 0)
    }
    return Array(segments)
  }

  /// Quotes a name for contexts where spaces and quotes have a meaning.
  static func quoted(_ name: String) -> String {
    guard
      name.unicodeScalars.contains(where: { $0.properties.isWhitespace || "`'\"".unicodeScalars.contains($0) }
      )
    else { return name }
    return "`" + name.replacing("\\", with: "\\\\").replacing("`", with: "\\`") + "`"
  }

  /// Formats a path for people. The text is valid as an argument of a command, except for names with
  /// control characters, which are escaped.
  static func printed(_ names: [String]) -> String {
    ShownText.escaped(names.map { $0.unicodeScalars.first == "`" ? quoted($0) : $0 }.joined(separator: "/"))
  }
}

/// Parses paths among the arguments of a command.
enum PathArgument {
  static func segments(_ text: String) throws -> [String] {
    do throws(TextProblem) {
      return try PathText.segments(text)
    } catch {
      throw CommandFailure(
        code: .usage, message: "The path \"\(text)\" is not valid: \(error.message).")
    }
  }

  /// Validates a path of the file system. The system would silently end it at the first NUL.
  static func file(_ text: String) throws -> String {
    guard StorePath.isValidPath(text) else {
      throw CommandFailure(
        code: .usage,
        message: "The path \(StorePath.escaped(text)) has a NUL in it, and no file has such a name.")
    }
    return text
  }

  /// Parses a document path. `hint` is added to the error.
  static func document(_ text: String, hint: String? = nil) throws -> DocumentPath {
    let end = " A document's path looks like users/ada." + (hint.map { " " + $0 } ?? "")
    do {
      return try DocumentPath(segments(text))
    } catch let failure as CommandFailure {
      throw CommandFailure(code: failure.code, message: failure.message + end)
    } catch {
      throw CommandFailure(code: .usage, message: "\(error)\(end)")
    }
  }

  /// Whether the id is valid for a user's collection, and not one of the store's own.
  static func isCollectionID(_ id: String) -> Bool { (try? CollectionPath([id])) != nil }
}
