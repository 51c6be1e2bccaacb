// Waits for objects and for pending changes in the storage.

import Dispatch
import DocumentStore

@testable import FirebaseStorage
@testable import ObjectStore

/// Returns when the content of the object can be read. A listener on the records of all objects reports each
/// change.
func waitForBytes(_ path: String) async throws {
  let (changes, change) = AsyncStream.makeStream(of: Void.self)
  let registration = try Storage.storage().client.objects().store.listen(
    to: StructuredQuery(.collectionGroup(ReservedPath.objects)),
    on: DispatchQueue(label: "dugout.test.objects")
  ) { _ in change.yield() }
  defer { registration.remove() }
  for await _ in changes {
    if await bytes(path) != nil { return }
  }
  throw CancellationError()
}

/// Returns when at least `count` changes of the default bucket are pending. A listener on the records of the
/// outbox reports each change.
func waitForPendingChanges(_ count: Int) async throws {
  let (changes, change) = AsyncStream.makeStream(of: Void.self)
  let registration = try Storage.storage().client.objects().store.listen(
    to: StructuredQuery(.collection(OutboxRecord.changes)), on: DispatchQueue(label: "dugout.test.outbox")
  ) { _ in change.yield() }
  defer { registration.remove() }
  for await _ in changes {
    if try await Storage.storage().pendingChanges().count >= count { return }
  }
  throw CancellationError()
}
