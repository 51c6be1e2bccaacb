// Names of projects and databases follow Google's grammar, and lead to safe paths.

import FirestoreWire
import OfflineSync
import Testing

@testable import FirestoreServer

@Suite struct DatabaseGrammarTests {
  private func isValid(_ project: String, _ database: String = "(default)", isEmulator: Bool = false) -> Bool
  {
    let name = DatabaseName(projectID: project, databaseID: database)
    return DatabaseGrammar.problem(name, isEmulator: isEmulator) == nil
  }

  @Test(arguments: ["my-project", "abcdef", "a12345", "a-b-c-d-e", "a" + String(repeating: "b", count: 29)])
  func projects(id: String) {
    #expect(isValid(id))
    #expect(isValid(id, isEmulator: true))
  }

  /// No name of these kinds may reach the file system.
  static let dangerous = [
    "", ".", "..", "../..", "a/b", "a\\b", "/etc", "a\u{0}b", "my project", "My-Project", "MYPROJECT",
    "my_project",
    "my.project", "my:project", "pröject", "ｍy-project", "my-project\n", "-project", "%2e%2e", "_default",
    "(default)x", "((default))", "MANIFEST", "LOCK", "~", "project$", "a" + String(repeating: "b", count: 63),
  ]

  @Test(arguments: dangerous)
  func dangerousNamesAreRefusedInEveryMode(id: String) {
    #expect(!isValid(id))
    #expect(!isValid(id, isEmulator: true))
    #expect(!isValid("my-project", id))
    #expect(!isValid("my-project", id, isEmulator: true))
  }

  @Test func projectsHaveSixToThirtyCharacters() {
    for id in ["abcde", "1abcdef", "abcdef-", "a" + String(repeating: "b", count: 30), "(default)"] {
      #expect(!isValid(id), "\(id)")
    }
  }

  @Test func databasesHaveFourToSixtyThreeCharactersAndAreNoUUIDs() {
    for id in ["(default)", "default", "abcd", "my-db-1", "a" + String(repeating: "b", count: 62)] {
      #expect(isValid("my-project", id), "\(id)")
    }
    for id in ["abc", "1abc", "abcd-", "f47ac10b-58cc-4372-a567-0e02b2c3d479"] {
      #expect(!isValid("my-project", id), "\(id)")
    }
    #expect(isValid("my-project", "f47ac10b-58cc-4372-a567-0e02b2c3d47"))
  }

  @Test func anEmulatorAcceptsShortNames() {
    for id in ["p", "x1", "123", "demo-shop", "a-"] {
      #expect(isValid(id, isEmulator: true), "\(id)")
      #expect(isValid("demo", id, isEmulator: true), "\(id)")
    }
  }

  @Test func differentDatabasesHaveDifferentPaths() throws {
    func path(_ project: String, _ database: String) throws -> String {
      try CheckedDatabase(DatabaseName(projectID: project, databaseID: database), isEmulator: true)
        .path(in: "/srv/data")
    }
    #expect(try path("my-project", "(default)") == "/srv/data/my-project/_default")
    #expect(try path("my-project", "default") == "/srv/data/my-project/default")
    #expect(try path("my-project", "orders") == "/srv/data/my-project/orders")
  }
}
