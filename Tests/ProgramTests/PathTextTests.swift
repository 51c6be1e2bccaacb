// The text form of paths, and the messages about invalid paths.

import DocumentStore
import Foundation
import Testing

@testable import dugout

@Suite struct PathTextTests {
  private let dugout = Program("dugout")

  @Test func namesAreSeparatedBySlashesAndMayBeQuoted() throws {
    #expect(try PathText.segments("users/ada") == ["users", "ada"])
    #expect(try PathText.segments("/users/ada/") == ["users", "ada"])
    #expect(try PathText.segments("`a b`/c d") == ["a b", "c d"])
    #expect(try PathText.segments(#"`a\`b\\`/x"#) == [#"a`b\"#, "x"])
    #expect(try PathText.segments(#"a\b"#) == [#"a\b"#])
    // A backtick inside a name is an ordinary character.
    #expect(try PathText.segments("users/a`b") == ["users", "a`b"])
    #expect(try PathText.segments("").isEmpty)
    #expect(throws: TextProblem.self) { try PathText.segments("users//ada") }
    #expect(throws: TextProblem.self) { try PathText.segments("`users") }
    let names = ["ada", "a b", #"a`b\"#, "it's", "a\u{A0}b"]
    #expect(try names.map { try PathText.segments(PathText.quoted($0)) } == names.map { [$0] })
  }

  /// If a user copies a printed path into a command, the path names the same document.
  @Test func printedPathsRoundTrip() throws {
    let lists = [["users", "ada"], ["`a", "x"], ["a`b", "`"], ["`\\`", "a b"], ["it's", #"\`"#]]
    #expect(try lists.map { try PathText.segments(PathText.printed($0)) } == lists)
    let folder = try TemporaryFolder()
    let path = #"`\`odd`/`\`one`"#
    #expect(try dugout.run("set", folder.path, path, "{a: 1}").status == 0)
    #expect(try dugout.run("ls", folder.path).output.contains(#"`\`odd`  1 document"#))
    #expect(try dugout.run("get", folder.path, path).output.contains(path))
    #expect(try dugout.run("watch", folder.path).status == 0)
    #expect(try dugout.run("set", folder.path, path, "{a: 2}").output.hasPrefix(path))
    #expect(try dugout.run("watch", folder.path).output.contains("~ " + path))
  }

  /// Regression: a collection whose name contained a space could be written and listed, but could not be
  /// named in a query.
  @Test func everyCollectionCanBeQueriedByName() throws {
    func scope(_ text: String) throws -> StructuredQuery.Scope { try QueryText.query(text).scope }
    #expect(
      try scope("`my users`/a/posts where a = 1") == .collection(CollectionPath(["my users", "a", "posts"])))
    #expect(try scope(#"`a\` b` limit 1"#) == .collection(CollectionPath(["a` b"])))
    #expect(try scope("group `a b`") == .collectionGroup("a b"))
    #expect(try scope("`group`") == .collection(CollectionPath(["group"])))
    let invalid = ["`my users", "group a/b", "group __objects__", "users//posts"]
    let accepted = invalid.filter { text in !(thrown { _ = try scope(text) } is CommandFailure) }
    #expect(accepted == [])
  }

  @Test func everyCommandAcceptsQuotedNames() throws {
    let folder = try TemporaryFolder()
    let path = "`my users`/x y"
    #expect(try dugout.run("set", folder.path, path, "{a: 1}").output.hasPrefix("my users/x y was written"))
    #expect(try dugout.run("get", folder.path, "my users/x y").status == 0)
    #expect(try dugout.run("get", folder.path, path).status == 0)
    #expect(try dugout.run("ls", folder.path, "`my users`").output.contains("x y"))
    #expect(try dugout.run("query", folder.path, "`my users` where a = 1", "--count").output == "count  1\n")
    #expect(try dugout.run("explain", folder.path, "`my users`").status == 0)
    #expect(try dugout.run("export", folder.path, "-", "`my users`").output.contains("my users/x y"))
    #expect(try dugout.run("index", "create", folder.path, "`my users`", "a").status == 0)
    let shell = try dugout.run(
      ["shell", folder.path], input: "query `my users` where a = 1\nget `my users`/`x y`\nls `my users`\n")
    #expect(shell.status == 0, "\(shell.complaint)")
    let store = try DocumentStore.open(folder.path)
    let completer = ShellCompleter(store: store)
    #expect(completer.completion("get my").candidates.map(\.text) == ["`my users`"])
    #expect(completer.completion("get `my u").candidates.map(\.text) == ["`my users`"])
    #expect(completer.completion("get `my u").replaced == 5)
    #expect(completer.completion("get `my users`/").candidates.map(\.text) == ["`my users`/`x y`"])
    #expect(completer.completion("query `my users` where a").candidates.map(\.text).contains("a"))
    #expect(completer.completion("query group m").candidates.map(\.text) == ["`my users`"])
    try store.close()
    #expect(
      try dugout.run("delete", folder.path, "`my users`", "--query", "--yes").output
        == "1 document deleted.\n")
  }

  @Test func invalidPathsAreExplained() throws {
    let folder = try TemporaryFolder()
    #expect(try dugout.run("set", folder.path, "/users/ada", "{}").output.hasPrefix("users/ada was written"))
    let empty = try dugout.run("get", folder.path, "users//ada")
    #expect(empty.status == 2 && empty.complaint.contains("a name must not be empty. A document's path"))
    let direction = try dugout.run("index", "create", folder.path, "users", "city:up")
    #expect(direction.status == 2 && direction.complaint.contains("there is no direction up"))
    #expect(try dugout.run("index", "create", folder.path, "users", "city:asc", "`a:b`:desc").status == 0)
    #expect(try dugout.run("index", "list", folder.path).output.contains("users(city, `a:b` desc)"))
    let large = try dugout.run("set", folder.path, "users/ada", "{a: 99999999999999999999}")
    #expect(large.status == 2 && large.complaint.contains("is too large for an integer"))
    var accepted: [String] = []
    for wrong in ["{a: 0x10}", "{a: 1e400}"] {
      let status = try dugout.run("set", folder.path, "users/ada", wrong).status
      if status != 2 { accepted.append("\(wrong): \(status)") }
    }
    #expect(accepted == [])
  }

  @Test func aFileInPlaceOfAStoreIsReported() throws {
    let folder = try TemporaryFolder()
    try folder.makeStore()
    let file = try dugout.run("ls", folder.path + "/MANIFEST")
    #expect(file.complaint.contains("is a file, and a store is a directory. Did you mean \(folder.path)?"))
    let manifest = folder.path + "/MANIFEST"
    try FileManager.default.removeItem(atPath: manifest)
    try FileManager.default.createDirectory(atPath: manifest, withIntermediateDirectories: false)
    let outcome = try dugout.run("get", folder.path, "users/ada")
    #expect(outcome.status != 0)
    #expect(outcome.complaint.contains("\(manifest) is a directory, and a store needs the name for a file."))
    #expect(outcome.complaint.contains("\"dugout salvage\""))
  }

  @Test func helpDescribesTheHelpCommand() throws {
    #expect(try dugout.run("help", "help").output == dugout.run("help").output)
  }
}
