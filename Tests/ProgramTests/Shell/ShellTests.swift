// The shell as users see it: with a pipe and on a terminal.

import DocumentStore
import Foundation
import Testing

@testable import dugout

@Suite struct ShellTests {
  private let dugout = Program("dugout")

  private func shell(_ path: String, _ lines: String...) throws -> Program.Outcome {
    try dugout.run(["shell", path], input: lines.joined(separator: "\n") + "\n")
  }

  @Test func linesFromAPipeAreExecutedInOrder() throws {
    let folder = try TemporaryFolder()
    let outcome = try shell(
      folder.path, "# a tour", "set users/ada {name: \"Ada\", age: 36}",
      "set users/bob {name: \"Bob\", age: 17}", "",
      "query 'users where age > 17'", "index create users age", "index list", "check", "exit",
      "get users/nobody")
    #expect(outcome.status == 0, "\(outcome.complaint)")
    let texts = ["id   age  name", "ada  36   Ada", "1 document\n", "users(age)  2 entries", "No damage."]
    #expect(texts.filter { !outcome.output.contains($0) } == [], "\(outcome.output)")
    #expect(try dugout.run("get", folder.path, "users/bob").status == 0)
  }

  /// Regression: the system ends a path at the first NUL, so an export replaced a file other than the file
  /// that was named.
  @Test(arguments: ["export FILE", "import FILE", "backup FILE"])
  func aPathWithANULIsRefused(line: String) throws {
    let folder = try TemporaryFolder()
    let file = folder.path + "/letter"
    try Data("mine".utf8).write(to: URL(fileURLWithPath: file))
    let outcome = try shell(
      folder.path + "/store", "set users/ada {a: 1}", line.replacing("FILE", with: file + "\0.json"))
    #expect(outcome.status == 2, "\(outcome.output)\(outcome.complaint)")
    #expect(try Data(contentsOf: URL(fileURLWithPath: file)) == Data("mine".utf8))
    #expect(try FileManager.default.contentsOfDirectory(atPath: folder.path).sorted() == ["letter", "store"])
  }

  @Test func theFirstFailingLineSetsTheExitCode() throws {
    let folder = try TemporaryFolder()
    let outcome = try shell(folder.path, "get users/ada", "set users/ada {a: 1}")
    #expect(outcome.status == 1)
    #expect(outcome.complaint.contains("line 1: there is no document users/ada"))
    #expect(try dugout.run("get", folder.path, "users/ada").status == 1)
    #expect(try shell(folder.path, "fetch").status == 2)
    #expect(try shell(folder.path, "salvage").complaint.contains("there is no command \"salvage\" here"))
    #expect(try shell(folder.path, "query users where").status == 2)
    #expect(try shell(folder.path, "help").output.contains("watch QUERY"))
  }

  /// Regression: a help page mixed the forms that commands have on the command line with the forms that they
  /// have in the shell.
  @Test func shellHelpUsesShellSyntax() throws {
    let folder = try TemporaryFolder()
    let names = ShellSession.commands.map { $0.name }
    let pages = try dugout.run(["shell", folder.path], input: names.map { "help \($0)\n" }.joined())
    var wrong: [String] = []
    for command in ShellSession.commands {
      if !pages.output.contains("\(command.summary)\n\nUsage: \(command.name)") { wrong.append(command.name) }
    }
    for line in pages.output.split(separator: "\n") where line.hasPrefix("Usage:") || line.hasPrefix("  ") {
      if line.contains("DIR") || line.hasPrefix("  dugout") { wrong.append("\(line)") }
    }
    #expect(wrong == [])
    #expect(pages.output.contains("Usage: query QUERY [--count]"))
    #expect(pages.output.contains("\n  query group messages where sent > timestamp("))
    let options = try dugout.run(["shell", folder.path], input: names.map { "\($0) --help\n" }.joined())
    #expect(options.output == pages.output)
  }

  @Test func aLiveQueryPrintsEveryChangeBeforeTheNextLine() throws {
    let folder = try TemporaryFolder()
    let outcome = try shell(
      folder.path, "set users/ada {age: 36}", "watch users where age > 20 order by age",
      "set users/bob {age: 21}",
      "set users/cy {age: 3}", "set users/ada {age: 37}", "delete users/bob", "watch", "unwatch 1",
      "set users/dan {age: 50}", "watch")
    #expect(outcome.status == 0, "\(outcome.complaint)")
    let reports = outcome.output.split(separator: "\n").filter { $0.contains("[1]") || $0.hasPrefix("  ") }
    #expect(
      reports.map(String.init) == [
        "[1] 1 document", "    users/ada  age: 36", "[1] 2 documents now", "  + users/bob  age: 21",
        "[1] 2 documents now", "  ~ users/ada  age: 37", "[1] 1 document now", "  - users/bob",
        "[1] users where age > 20 order by age",
      ])
    #expect(outcome.output.hasSuffix("nothing is watched\n"))
  }

  @Test func theShellRefusesAStoreInUseOrDamaged() throws {
    let folder = try TemporaryFolder()
    let store = try DocumentStore.open(folder.path)
    let outcome = try shell(folder.path, "ls")
    #expect(outcome.status == 69 && outcome.complaint.contains("in use by process \(getpid())"))
    try store.close()
  }

  // MARK: Completion

  private func completion(_ text: String, _ path: String) throws -> Completion {
    let store = try DocumentStore.open(path)
    defer { try? store.close() }
    return ShellCompleter(store: store).completion(text)
  }

  private func candidates(_ text: String, _ path: String) throws -> [String] {
    try completion(text, path).candidates.map(\.text)
  }

  @Test func commandsOptionsPathsAndFieldsAreCompleted() throws {
    let folder = try TemporaryFolder()
    try folder.changeStore { store in
      for (path, fields) in [
        (["users", "ada"], ["age", "name"]), (["users", "adam"], ["age"]),
        (["users", "ada", "posts", "1"], ["likes"]),
        (["rooms", "a b"], ["topic of it"]),
      ] {
        try store.commit([.set(DocumentPath(path), StoredMap(fields.map { ($0, .integer(1)) }))])
      }
    }
    #expect(try candidates("qu", folder.path) == ["query"])
    #expect(try candidates("get ", folder.path) == ["rooms", "users"])
    #expect(try candidates("get users/ad", folder.path) == ["users/ada", "users/adam"])
    #expect(try candidates("get users/ada/", folder.path) == ["users/ada/posts"])
    #expect(try candidates("get users/ada/posts/", folder.path) == ["users/ada/posts/1"])
    #expect(try candidates("query users where a", folder.path) == ["age", "and", "asc", "average"])
    #expect(try candidates("query group posts where li", folder.path) == ["likes", "limit"])
    #expect(try candidates("watch users wh", folder.path) == ["where"])
    #expect(try candidates("query users where (ag", folder.path) == ["age"])
    #expect(try candidates("query rooms where `", folder.path) == ["`topic of it`"])
    #expect(try candidates("query users --c", folder.path) == ["--count", "--csv"])
    #expect(try candidates("set users/ada --d", folder.path) == ["--delete"])
    #expect(try candidates("set users/ada --delete ", folder.path) == ["age", "name"])
    #expect(try candidates("set users/none --increment a", folder.path) == [])
    #expect(try candidates("index create us", folder.path) == ["users"])
    #expect(try candidates("index create users n", folder.path) == ["name"])
    #expect(try candidates("help unw", folder.path) == ["unwatch"])
    #expect(try candidates("help exit-", folder.path) == ["exit-codes"])
    #expect(try candidates("diff other us", folder.path) == ["users"])
    #expect(try candidates("delete --query users where ag", folder.path) == ["age"])
    #expect(try candidates("get no/such/thing/at/all", folder.path) == [])
    try folder.changeStore { store in
      try store.commit([.set(DocumentPath(["version", "1", "user", "ada"]), StoredMap())])
    }
    var wrong: [String] = []
    for text in ["get v", "get version/", "get version/1/"] {
      let found = try candidates(text, folder.path)
      if found != ["version/1/user"] { wrong.append("\(text): \(found)") }
    }
    #expect(wrong == [])
  }

  @Test func pathsOfMapsAreCompleted() throws {
    let folder = try TemporaryFolder()
    let geo = StoredValue.map(StoredMap([("lat", .integer(1)), ("a b", .integer(2))]))
    let address = StoredValue.map(StoredMap([("city", .string("Paris")), ("geo", geo)]))
    try folder.changeStore { store in
      try store.commit([
        .set(DocumentPath(["users", "ada"]), StoredMap([("address", address), ("age", .integer(36))]))
      ])
    }
    #expect(
      try candidates("query users where a", folder.path) == ["address", "age", "and", "asc", "average"])
    let inside = ["address", "address.city", "address.geo"]
    #expect(try candidates("query users where address", folder.path) == inside)
    #expect(try candidates("query users where address.g", folder.path) == ["address.geo"])
    #expect(
      try candidates("query users where address.geo.", folder.path) == [
        "address.geo.`a b`", "address.geo.lat",
      ])
    #expect(try candidates("set users/ada --delete address.c", folder.path) == ["address.city"])
    #expect(try candidates("index create users address.c", folder.path) == ["address.city"])
  }

  @Test func aCandidateSaysWhatFollowsIt() throws {
    let folder = try TemporaryFolder()
    let map = StoredValue.map(StoredMap([("x", .integer(1))]))
    try folder.changeStore { store in
      try store.commit([
        .set(DocumentPath(["users", "ada"]), StoredMap([("age", .integer(36)), ("map", map)]))
      ])
    }
    var found: [String] = []
    for text in [
      "qu", "ls u", "get u", "set u", "delete u", "delete --query u", "query u", "get users/a",
      "query users --c",
      "query users where ag", "query users where ma", "set users/ada --increment ag",
      "set users/ada --delete ag",
    ] {
      let candidates = try completion(text, folder.path).candidates
      found.append(candidates.map { $0.text + $0.suffix }.joined(separator: ","))
    }
    #expect(
      found == [
        "query ", "users ", "users/", "users/", "users/", "users ", "users ", "users/ada ",
        "--count ,--csv ", "age ", "map,max ", "age=", "age ",
      ])
  }

  @Test func suggestionsAreGroupedByKind() throws {
    let folder = try TemporaryFolder()
    try folder.changeStore { store in
      try store.commit([.set(DocumentPath(["users", "ada"]), StoredMap([("age", .integer(36))]))])
    }
    let mixed = try completion("query users where a", folder.path)
    #expect(
      ShellConsole.list(mixed, width: 80) == "fields    age\nkeywords  and      asc      average")
    #expect(
      ShellConsole.list(try completion("ls --", folder.path), width: 80) == "--help   --json   --limit")
    // Rows of a group are aligned.
    let words = ["one", "two", "three"].map { Completion.Candidate(text: $0, kind: .fields) }
    let command = Completion.Candidate(text: "go", kind: .commands)
    let narrow = Completion(replaced: 0, candidates: [command] + words, isTruncated: true)
    #expect(
      ShellConsole.list(narrow, width: 24)
        == "commands  go\nfields    one    two\n          three\nand more")
  }

  /// Regression: only the first hundred documents were completed, and their common prefix was inserted
  /// although other documents do not have it.
  @Test func aLongListOfDocumentsIsMarkedAsPart() throws {
    let folder = try TemporaryFolder()
    try folder.changeStore { store in
      for number in 100..<300 {
        try store.commit([.set(DocumentPath(["users", "u\(number)"]), StoredMap())])
      }
    }
    let completion = try completion("get users/", folder.path)
    #expect(completion.isTruncated && completion.candidates.count == ShellCompleter.candidatesMax)
  }

  // MARK: At a terminal

  @Test func terminalLinesAreEditedCompletedAndSavedInTheHistory() throws {
    let folder = try TemporaryFolder()
    let files = try TemporaryFolder()
    try folder.makeStore()
    let history = files.path + "/history"
    let terminal = try PseudoTerminal()
    let process = try terminal.start(
      dugout.path, ["shell", folder.path], ["DUGOUT_HISTORY": history, "TERM": "xterm"])
    try terminal.wait(for: "dugout> ")
    // Types "get users/ada" with two completions and a corrected mistake.
    try terminal.type("gex\u{7F}t us\ta\t\r")
    try terminal.wait(for: "name: \"Ada\"")
    try terminal.wait(for: "dugout> ")
    try terminal.type("nonsense\r")
    try terminal.wait(for: "there is no command \"nonsense\" here")
    try terminal.wait(for: "dugout> ")
    try terminal.type("watch users\r")
    try terminal.wait(for: "[1] 1 document")
    try terminal.wait(for: "dugout> ")
    // Recalls the first line.
    try terminal.type("\u{1B}[A\u{1B}[A\u{1B}[A\r")
    try terminal.wait(for: "name: \"Ada\"")
    try terminal.wait(for: "dugout> ")
    // Searches for the first line.
    try terminal.type("\u{12}/a")
    try terminal.wait(for: "(reverse-i-search)`/a': get users/ada")
    try terminal.type("\r")
    try terminal.wait(for: "name: \"Ada\"")
    try terminal.wait(for: "dugout> ")
    try terminal.type("set users/bob {age: 1}\r")
    try terminal.wait(for: "+ users/bob  age: 1")
    try terminal.wait(for: "dugout> ")
    try terminal.type("half a line\u{3}")
    try terminal.wait(for: "^C")
    try terminal.wait(for: "dugout> ")
    try terminal.type("\u{4}")
    process.waitUntilExit()
    #expect(process.terminationStatus == 0)
    let lines = try String(contentsOfFile: history, encoding: .utf8).split(separator: "\n")
    #expect(lines.first == "get users/ada" && lines.last == "set users/bob {age: 1}")
    #expect(try dugout.run("get", folder.path, "users/bob").status == 0)
  }
}
