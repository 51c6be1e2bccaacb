// Waits for changes of the outbox.

import Dispatch
import DocumentStore

@testable import FirebaseStorage
@testable import ObjectStore

extension Storage {
  /// Returns when the pending changes of this bucket satisfy `condition`. Opens the store if it is not open.
  /// A listener on the records of the outbox reports each change.
  nonisolated(nonsending) func waitForOutbox(until condition: ([PendingChange]) -> Bool) async throws {
    let (changes, change) = AsyncStream.makeStream(of: Void.self)
    let registration = try client.objects().store.listen(
      to: StructuredQuery(.collection(OutboxRecord.changes)), on: DispatchQueue(label: "dugout.test.outbox")
    ) { _ in change.yield() }
    defer { registration.remove() }
    for await _ in changes {
      if condition(try await pendingChanges()) { return }
    }
    throw CancellationError()
  }
}
