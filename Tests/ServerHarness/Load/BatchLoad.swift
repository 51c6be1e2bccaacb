// Calls of BatchWrite: each write on its own, and one that must always fail.

#if Server
import ByteStore
package import DocumentStore
import FirestoreWire
import Harness

package final class BatchLoad: ServedLoad {
  private static let alreadyExists = 6

  package let name = "batches"
  package let collections = ["batches"]
  package let tally = LoadTally()
  private let batches: Int
  private let documents: Int
  private let numbers: Locked<[DocumentPath: NumberedWrites]>

  package init(batches: Int, documents: Int) {
    self.batches = batches
    self.documents = documents
    numbers = Locked([:])
  }

  package func run(_ client: FirestoreClient, port: Int) async {
    await withTaskGroup(of: Void.self) { tasks in
      for batch in 0..<batches {
        tasks.addTask { [self] in await run(batch, client) }
      }
    }
  }

  private func run(_ batch: Int, _ client: FirestoreClient) async {
    let paths = (0..<documents).map { FirestoreClient.path("batches", "\(batch)-\($0)") }
    let fixed = FirestoreClient.path("batches", "\(batch)-fixed")
    while true {
      let begun = numbers.withLock { numbers in
        paths.map { numbers[$0, default: NumberedWrites()].begin() }
      }
      let mutations = zip(paths, begun).map { path, number in
        Mutation.set(path, StoredMap([("n", .integer(Int64(number)))]))
      }
      // The first batch creates this document, and all others must not change it.
      let refused = Mutation.set(
        fixed, StoredMap([("n", .integer(Int64(begun[0])))]), precondition: .exists(false))
      do throws(GRPCEnd) {
        let statuses = try await client.batchWrite(mutations + [refused])
        tally.acknowledge()
        take(statuses, zip(paths, begun).map { ($0, $1) })
      } catch {
        if error.outcome() == .notExecuted {
          numbers.withLock { numbers in
            for (path, number) in zip(paths, begun) { numbers[path]?.withdraw(number) }
          }
        }
        guard tally.note(error, of: "BatchWrite") else { return }
      }
    }
  }

  private func take(_ statuses: [Wire.Status], _ begun: [(path: DocumentPath, number: Int)]) {
    guard statuses.count == begun.count + 1, let last = statuses.last else {
      return tally.noteUnexpected("a batch of \(begun.count + 1) writes has \(statuses.count) statuses")
    }
    numbers.withLock { numbers in
      for ((path, number), status) in zip(begun, statuses) {
        if status.code == 0 {
          numbers[path]?.acknowledge(number)
        } else if GRPCEnd(code: Int(status.code), message: "", origin: .status).outcome() == .unexpected {
          tally.noteUnexpected("a write of a batch has the status \(status.code): \(status.message)")
        }
      }
    }
    if last.code != Self.alreadyExists && last.code != 0 && last.code != 14 && last.code != 8 {
      tally.noteUnexpected("a write that must fail has the status \(last.code): \(last.message)")
    }
  }

  package func judge(_ documents: [DocumentPath: StoredDocument]) throws {
    try numbers.withLock { numbers in
      for path in numbers.keys {
        try numbers[path]?.adopt(documents[path]?.number ?? 0, of: "\(path)")
      }
    }
    for batch in 0..<batches {
      let fixed = documents[FirestoreClient.path("batches", "\(batch)-fixed")]
      guard fixed == nil || fixed?.createTime == fixed?.updateTime else {
        throw Violation("a document was replaced by a write with the precondition that it does not exist")
      }
    }
  }
}
#endif
