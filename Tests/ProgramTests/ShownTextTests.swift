// Stored text cannot control the terminal: control characters are escaped.

import DocumentStore
import Foundation
import Testing

@testable import dugout

@Suite struct ShownTextTests {
  private let dugout = Program("dugout")

  /// A text that clears the screen, rings the bell, ends the line, and starts an 8-bit control sequence.
  private static let nasty = "a\u{1B}[2J\u{7}\r\n\u{9B}1m\u{7F}b"
  private static let written = #"a\u001b[2J\u0007\r\n\u009b1m\u007fb"#

  @Test func controlCharactersAreEscapedForDisplay() {
    #expect(ShownText.escaped(Self.nasty) == Self.written)
    #expect(ShownText.escaped("à ° 東 👩‍👩‍👧 \\") == "à ° 東 👩‍👩‍👧 \\")
    #expect(ShownText.sanitized("one\n\ttwo\u{1B}]0;x\u{7}") == "one\n\ttwo\\u001b]0;x\\u0007")
    let emphasised = "\u{1B}[1mhead\u{1B}[0m\nrest"
    #expect(ShownText.sanitized(emphasised) == emphasised)
    #expect(ShownText.sanitized(emphasised + "\u{1B}[31m") == emphasised + "\\u001b[31m")
    // Regression: there are two kinds of marks. At each mark of one kind, the rest of the text was searched
    // for the other kind.
    let marks = String(repeating: ShownText.plain, count: 10_000)
    #expect(ShownText.sanitized(marks) == marks)
  }

  /// Regression: stored control characters were sent to the reader's terminal.
  @Test func noCommandPrintsAStoredControlCharacter() throws {
    let folder = try TemporaryFolder()
    let (collection, id) = ("c" + Self.nasty, "d" + Self.nasty)
    try folder.changeStore { store in
      let inner = StoredMap([("m" + Self.nasty, .string(Self.nasty))])
      let fields = StoredMap([
        ("f" + Self.nasty, .string(Self.nasty)), ("list", .array([.string(Self.nasty), .map(inner)])),
        ("map", .map(inner)), ("quote", .string(#"say "\""#)),
      ])
      try store.commit([
        .set(try DocumentPath([collection, id]), fields), .set(try DocumentPath(["users", id]), fields),
        .set(try DocumentPath(["users", "gone", collection, id]), fields),
      ])
    }
    let ends: [[String]] = [
      ["ls", folder.path], ["ls", folder.path, "users"], ["get", folder.path, "users/" + id],
      ["query", folder.path, "users"], ["query", folder.path, "group users", "--json"],
      ["get", folder.path, "users/" + id, "--json"], ["export", folder.path, "-"],
      ["get", folder.path, "nothing/" + id],
      ["index", "create", folder.path, "users", "`f\(Self.nasty)`"], ["index", "list", folder.path],
      ["stat", folder.path], ["check", folder.path],
    ]
    var wrong: [String] = []
    for arguments in ends {
      let outcome = try dugout.run(arguments)
      let said = outcome.output + outcome.complaint
      if said.isEmpty { wrong.append("\(arguments): no output") }
      let steering = said.unicodeScalars.filter { ShownText.isControl($0) && $0 != "\n" }
      if !steering.isEmpty { wrong.append("\(arguments): \(said)") }
    }
    #expect(wrong == [])
    let get = try dugout.run("get", folder.path, "users/" + id).output
    #expect(get.hasPrefix("users/d\(Self.written)\n  f\(Self.written): \"\(Self.written)\"\n"), "\(get)")
    #expect(get.contains(#"  quote: "say \"\\\"""# + "\n"), "\(get)")
    let table = try dugout.run("query", folder.path, "users").output
    #expect(table.split(separator: "\n").count == 3, "\(table)")
    #expect(try dugout.run("ls", folder.path).output.hasPrefix("c\(Self.written)  1 document\n"))
    // CSV is read by programs, so CSV contains the stored text unescaped.
    let cells = try dugout.run("export", folder.path, "-", "users", "--csv").output
    #expect(cells.contains(Self.nasty), "\(cells)")
    let shell = try dugout.run(["shell", folder.path], input: "watch users\n")
    #expect(shell.output.contains("users/d\(Self.written)  "), "\(shell.output)")
    #expect(shell.output.split(separator: "\n").count == 2)
  }
}
