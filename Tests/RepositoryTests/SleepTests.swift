// The tests wait for events, and do not sleep until an event may have happened.
//
// A test that polls with a sleep waits too long on an idle machine, and can fail on a busy one.

import Testing

@Suite struct SleepTests {
  /// The number of sleeps that each file may have. The comment gives the reason.
  private static let allowed = [
    // A transaction block that takes long is the subject of the test.
    "Tests/FirebaseFirestoreTests/CallbackOrderTests.swift": 1
  ]

  private static let functions: Set<String> = ["sleep", "usleep", "nanosleep"]

  /// Returns the sleeps in the test targets, without the allowed ones.
  private static func violations(in tree: RepositoryTree, allowed: [String: Int]) -> [Violation] {
    var violations: [Violation] = []
    for target in tree.folders(in: "Tests/").sorted() where target.hasSuffix("Tests") {
      for path in tree.texts(below: "Tests/\(target)/", withSuffix: ".swift") {
        let lines = lines(withSleep: tree.texts[path] ?? "")
        guard lines.count != allowed[path] ?? 0 else { continue }
        violations += lines.map { line in
          Violation(path: path, line: line, sentence: "A test waits for an event instead of sleeping.")
        }
      }
    }
    return violations
  }

  private static func lines(withSleep text: String) -> [Int] {
    let tokens = SwiftSource(text).tokens()
    return zip(tokens, tokens.dropFirst())
      .filter { functions.contains($0.text) && $1.text == "(" }.map { $0.0.line }
  }

  @Test func testTargetsWaitForEventsInsteadOfSleeping() throws {
    let tree = try RepositoryTree.repository()
    expectNone(Self.violations(in: tree, allowed: Self.allowed))
    let counts = Self.allowed.keys.map { ($0, Self.lines(withSleep: tree.texts[$0] ?? "").count) }
    #expect(Dictionary(uniqueKeysWithValues: counts) == Self.allowed)
  }

  @Test(arguments: [
    "try await Task.sleep(for: .seconds(1))", "Thread.sleep(forTimeInterval: 1)", "usleep(1)", "sleep (1)",
    "try await clock.sleep(until: end)",
  ])
  func everyKindOfSleepIsReportedWithItsLine(call: String) {
    let tree = RepositoryTree(["Tests/DiskTests/Log/LogTests.swift": "func wait() {\n  \(call)\n}"])
    #expect(
      Self.violations(in: tree, allowed: [:]).map(\.description)
        == ["Tests/DiskTests/Log/LogTests.swift:2: A test waits for an event instead of sleeping."])
    #expect(Self.violations(in: tree, allowed: ["Tests/DiskTests/Log/LogTests.swift": 1]).isEmpty)
  }

  @Test func commentsStringsOtherNamesAndHarnessesAreIgnored() {
    let tree = RepositoryTree([
      "Tests/DiskTests/LogTests.swift": "// sleep(1)\nlet a = \"usleep(1)\"\nlet sleep = asleep(1)",
      "Tests/Harness/Load.swift": "usleep(1)",
    ])
    #expect(Self.violations(in: tree, allowed: [:]).isEmpty)
  }
}
