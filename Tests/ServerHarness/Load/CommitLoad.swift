// Many open commits on one connection. Each sequence changes three documents in one commit: one is replaced,
// one is counted up, and one is deleted now and then.

#if Server
import ByteStore
package import DocumentStore
import Harness

package final class CommitLoad: ServedLoad {
  package let name = "commits"
  package let collections = ["groups"]
  package let tally = LoadTally()
  private let seed: UInt64
  private let groups: Locked<[NumberedWrites]>

  package init(groups: Int, seed: UInt64) {
    self.seed = seed
    self.groups = Locked([NumberedWrites](repeating: NumberedWrites(), count: groups))
  }

  package func run(_ client: FirestoreClient, port: Int) async {
    await withTaskGroup(of: Void.self) { tasks in
      for group in groups.withLock({ $0.indices }) {
        tasks.addTask { [self] in await run(group, client) }
      }
    }
  }

  private func run(_ group: Int, _ client: FirestoreClient) async {
    while true {
      let number = groups.withLock { $0[group].begin() }
      do throws(GRPCEnd) {
        try await client.commit(mutations(group, number))
        tally.acknowledge()
        groups.withLock { $0[group].acknowledge(number) }
      } catch {
        if error.outcome() == .notExecuted { groups.withLock { $0[group].withdraw(number) } }
        guard tally.note(error, of: "Commit") else { return }
      }
    }
  }

  // MARK: Documents

  private static let number = StoredFieldPath(unchecked: ["n"])

  private func path(_ group: Int, _ part: String) -> DocumentPath {
    FirestoreClient.path("groups", "\(group)-\(part)")
  }

  private func mutations(_ group: Int, _ number: Int) -> [Mutation] {
    let last =
      isDeleted(number)
      ? Mutation.delete(path(group, "last"))
      : .set(path(group, "last"), StoredMap([("n", .integer(Int64(number)))]))
    return [
      .set(path(group, "set"), fields(group, number)),
      .patch(
        path(group, "count"), StoredMap(), mask: FieldMask([]),
        transforms: [FieldTransform(Self.number, .increment(.integer(1)))]),
      last,
    ]
  }

  private func isDeleted(_ number: Int) -> Bool { number % 4 == 3 }

  private func fields(_ group: Int, _ number: Int) -> StoredMap {
    StoredMap([
      ("n", .integer(Int64(number))), ("group", .integer(Int64(group))),
      ("text", .string(NumberedFields.text(SeededRandom.seed(seed, UInt64(group)), number))),
    ])
  }

  package func judge(_ documents: [DocumentPath: StoredDocument]) throws {
    try groups.withLock { groups in
      for group in groups.indices {
        let found = documents[path(group, "count")]?.number ?? 0
        try groups[group].adopt(found, of: "group \(group)")
        let set = documents[path(group, "set")]?.fields
        guard set == (found == 0 ? nil : fields(group, found)) else {
          throw Violation(
            "group \(group) is counted up to \(found), and has the fields \(set.map { "\($0)" } ?? "none")")
        }
        let last = documents[path(group, "last")]?.number
        guard last == (found == 0 || isDeleted(found) ? nil : found) else {
          throw Violation("the commit \(found) of group \(group) is half applied: \(last ?? 0)")
        }
      }
    }
  }
}

extension StoredDocument {
  /// The integer in the field `n`.
  var number: Int? { if case .integer(let number) = fields["n"] { Int(number) } else { nil } }
}
#endif
