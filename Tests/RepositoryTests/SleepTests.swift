// The tests wait for events, and do not sleep or yield until an event may have happened.
//
// A test that polls with a sleep waits too long on an idle machine, and can fail on a busy one. A test that
// polls with `Task.yield()` keeps a processor busy, and delays the event that it waits for.

import Testing

@Suite struct SleepTests {
  /// The number of sleeps and yields that each file may have. The comment gives the reason.
  private static let allowed = [
    // Sleeps in virtual time, which take no real time, are the subject of the tests.
    "Tests/DugoutTestingTests/TimeTests.swift": 3,
    // A transaction block that takes long is the subject of the test.
    "Tests/FirebaseFirestoreTests/CallbackOrderTests.swift": 1,
    // Tasks that control the same transfer take turns.
    "Tests/FirebaseStorageTests/ManyTransfersTests.swift": 1,
    "Tests/FirebaseStorageTests/TaskTests.swift": 1,
    // The remote may answer between a pause and the next one.
    "Tests/FirebaseStorageTests/RemoteTests.swift": 1,
    // Between two sweeps, the other tasks of the test may run.
    "Tests/ObjectStoreTests/ObjectSweepTests.swift": 2,
    // `StreamWorld.wait` accepts any condition on the callback queue. No event reports every change there.
    "Tests/StreamBaseKitTests/StreamWorld.swift": 1,
  ]

  private static let sleepFunctions: Set<String> = ["sleep", "usleep", "nanosleep"]

  private struct Call {
    var line: Int
    var sentence: String
  }

  /// Returns the sleeps and yields in the test targets, without the allowed ones.
  private static func violations(in tree: RepositoryTree, allowed: [String: Int]) -> [Violation] {
    var violations: [Violation] = []
    for target in tree.folders(in: "Tests/").sorted() where target.hasSuffix("Tests") {
      for path in tree.texts(below: "Tests/\(target)/", withSuffix: ".swift") {
        let calls = calls(in: tree.texts[path] ?? "")
        guard calls.count != allowed[path] ?? 0 else { continue }
        violations += calls.map { Violation(path: path, line: $0.line, sentence: $0.sentence) }
      }
    }
    return violations
  }

  private static func calls(in text: String) -> [Call] {
    let tokens = SwiftSource(text).tokens()
    return tokens.indices.compactMap { index in
      let token = tokens[index]
      guard token.text == "Task" || sleepFunctions.contains(token.text) else { return nil }
      let next = tokens[(index + 1)...].prefix(3).map(\.text)
      if token.text == "Task" {
        guard next == [".", "yield", "("] else { return nil }
        return Call(line: token.line, sentence: "A test waits for an event instead of yielding.")
      }
      guard next.first == "(" else { return nil }
      return Call(line: token.line, sentence: "A test waits for an event instead of sleeping.")
    }
  }

  @Test func testTargetsWaitForEventsInsteadOfPolling() throws {
    let tree = try RepositoryTree.repository()
    expectNone(Self.violations(in: tree, allowed: Self.allowed))
    let counts = Self.allowed.keys.map { ($0, Self.calls(in: tree.texts[$0] ?? "").count) }
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

  @Test func yieldIsReportedWithItsLine() {
    let path = "Tests/DiskTests/Log/LogTests.swift"
    let tree = RepositoryTree([path: "while !isOver {\n  await Task.yield()\n}"])
    #expect(
      Self.violations(in: tree, allowed: [:]).map(\.description)
        == ["\(path):2: A test waits for an event instead of yielding."])
    #expect(Self.violations(in: tree, allowed: [path: 1]).isEmpty)
    #expect(Self.violations(in: tree, allowed: [path: 2]).count == 1)
  }

  @Test func commentsStringsOtherNamesAndHarnessesAreIgnored() {
    let tree = RepositoryTree([
      "Tests/DiskTests/LogTests.swift": "// sleep(1)\nlet a = \"usleep(1)\"\nlet sleep = asleep(1)",
      "Tests/DiskTests/StreamTests.swift": "// Task.yield()\nchanges.yield()\nTask.yields()\nmyTask.yield()",
      "Tests/Harness/Load.swift": "usleep(1)\nawait Task.yield()",
    ])
    #expect(Self.violations(in: tree, allowed: [:]).isEmpty)
  }
}
