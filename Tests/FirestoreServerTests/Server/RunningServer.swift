// A server on real sockets, for the time of a test.

import ByteStore
import Foundation

@testable import FirestoreServer

extension FirestoreServer {
  /// Runs the server, passes its ports to `body`, and ends it.
  func whileRunning(_ body: @escaping @Sendable (ServerAddresses) throws -> Void) async throws {
    let ready = Locked<ServerAddresses?>(nil)
    let task = Task {
      try await run { addresses in
        ready.withLock { $0 = addresses }
        ready.wakeAll()
      }
    }
    let result: Result<Void, any Error> = await withCheckedContinuation { continuation in
      Thread.detachNewThread {
        let addresses = ready.withLock(when: { $0 != nil }) { $0 }
        continuation.resume(returning: Result { try body(addresses!) })
      }
    }
    task.cancel()
    try await task.value
    try result.get()
  }
}
