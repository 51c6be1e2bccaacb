// Combining two successive changes of one document between two notifications.

import DocumentStore
import Testing

@testable import OfflineSync

@Suite struct ViewChangeTests {
  private static let kinds: [ViewChange.Kind] = [.added, .modified, .metadata, .removed]

  private static func document(_ n: Int64) -> SyncedDocument {
    RemoteDocument(
      DocumentPath(unchecked: ["rooms", "a"]), StoredMap([("n", .integer(n))]),
      version: SnapshotVersion(microseconds: n)
    ).synced
  }

  /// Rows are the first change, and columns are the second. Nil means that no change remains. A missing entry
  /// is an impossible sequence.
  private static let table: [ViewChange.Kind: [ViewChange.Kind: ViewChange.Kind?]] = [
    .added: [.modified: .added, .metadata: .added, .removed: nil],
    .modified: [.modified: .modified, .metadata: .modified, .removed: .removed],
    .metadata: [.modified: .modified, .metadata: .metadata, .removed: .removed],
    .removed: [.added: .modified],
  ]

  @Test func twoChangesMergeIntoOne() throws {
    var pairs = 0
    var wrong: [String] = []
    for first in Self.kinds {
      for (second, merged) in try #require(Self.table[first]) {
        var changes = ViewChangeSet()
        changes.add(first, Self.document(1))
        changes.add(second, Self.document(2))
        let change = changes.changes.values.first
        if change?.kind != merged { wrong.append("\(first), then \(second): \(String(describing: change))") }
        // A removal contains the document as it was last delivered. All other changes contain the newest
        // document.
        if let change, change.document != Self.document(change.kind == .removed ? 1 : 2) {
          wrong.append("\(first), then \(second): \(change.document)")
        }
        pairs += 1
      }
    }
    #expect(wrong == [])
    #expect(pairs == 10)
  }

  @Test func moreThanTwoChangesMergeIntoOne() {
    var changes = ViewChangeSet()
    let kinds: [ViewChange.Kind] = [.removed, .added, .modified, .metadata]
    for kind in kinds { changes.add(kind, Self.document(1)) }
    #expect(changes.changes.values.map(\.kind) == [.modified])
    changes.add(.removed, Self.document(1))
    #expect(changes.changes.values.map(\.kind) == [.removed])
    var fleeting = ViewChangeSet()
    for kind in [ViewChange.Kind.added, .modified, .removed] { fleeting.add(kind, Self.document(1)) }
    #expect(fleeting.isEmpty)
  }
}
