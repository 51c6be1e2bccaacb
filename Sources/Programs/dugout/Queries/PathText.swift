// Paths as people write them.
//
//   path := ["/"] name ("/" name)* ["/"]
//   name := letters | "`" letters "`"        between backticks, a letter behind a backslash is what it is; a backtick
//                                            elsewhere is a letter
//
// In a query a blank ends a path; on the command line an argument is one, with or without backticks.

import ByteStore
import DocumentStore

struct PathText {
  /// Between all slashes, empty ones too.
  private(set) var names: [String] = []
  /// A backtick opens a name, and none ends it.
  private(set) var isOpen = false

  /// By scalars: a slash and a combining mark after it are one character, which is no slash.
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

  /// The names of a path; none for an empty text.
  static func segments(_ text: String) throws(TextProblem) -> [String] {
    let path = PathText(text)
    guard !path.isOpen else {
      throw TextProblem(message: "a backtick opens a name and none ends it", place: 0)
    }
    var segments = path.names[...]
    // One slash at each end says nothing.
    if segments.first?.isEmpty == true { segments.removeFirst() }
    if segments.last?.isEmpty == true { segments.removeLast() }
    guard !segments.contains(where: \.isEmpty) else {
      throw TextProblem(message: "a name must not be empty", place: 0)
    }
    return Array(segments)
  }

  /// How a name is written where blanks and quotes mean something.
  static func quoted(_ name: String) -> String {
    guard
      name.unicodeScalars.contains(where: { $0.properties.isWhitespace || "`'\"".unicodeScalars.contains($0) }
      )
    else { return name }
    return "`" + name.replacing("\\", with: "\\\\").replacing("`", with: "\\`") + "`"
  }

  /// How a path is printed for people: an argument of a command that says the same means the same, but for names with
  /// control characters, of which no terminal gets any.
  static func printed(_ names: [String]) -> String {
    ShownText.escaped(names.map { $0.unicodeScalars.first == "`" ? quoted($0) : $0 }.joined(separator: "/"))
  }
}

/// Paths among the arguments of a command.
enum PathArgument {
  static func segments(_ text: String) throws -> [String] {
    do throws(TextProblem) {
      return try PathText.segments(text)
    } catch {
      throw CommandFailure(
        code: .usage, message: "The path \"\(text)\" is not valid: \(error.message).")
    }
  }

  /// A file or a directory of the system, which would take a path up to its first NUL for the whole.
  static func file(_ text: String) throws -> String {
    guard StorePath.isValidPath(text) else {
      throw CommandFailure(
        code: .usage,
        message: "The path \(StorePath.shown(text)) has a NUL in it, and no file has such a name.")
    }
    return text
  }

  /// `hint` says what the user may have meant.
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

  /// Whether documents of users can be in collections with this id; what else a store keeps is in others.
  static func isCollectionID(_ id: String) -> Bool { (try? CollectionPath([id])) != nil }
}
