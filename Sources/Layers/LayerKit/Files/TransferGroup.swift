// File uploads, and groups of transfers with one completion.

private import ByteStore
private import FirebaseCore
package import FirebaseStorage
private import Foundation

/// A group of transfers. Calls its completion once, when all transfers have ended or the timeout has passed.
/// The completion receives the error of the first failed transfer, in the order of the transfers. After that
/// call, the group keeps no transfer alive.
package final class TransferGroup: Sendable {
  private struct State: @unchecked Sendable {
    // Unchecked, because the closure is called only once, and any thread may use the tasks.
    var waiting: Int
    var failures: [Int: any Error] = [:]
    var tasks: [StorageUploadTask] = []
    var completion: (((any Error)?) -> Void)?
  }

  private let state: Locked<State>

  package init(count: Int, _ completion: @escaping ((any Error)?) -> Void) {
    state = Locked(State(waiting: count, completion: completion))
  }

  /// Adds an upload that the timeout cancels. Does nothing if the group has ended.
  package func begin(_ task: StorageUploadTask) {
    let arriving = Transferred(task)
    state.withLock { state in
      if state.completion != nil { state.tasks.append(arriving.value) }
    }
  }

  package func end(_ index: Int, _ error: (any Error)?) {
    let end = state.withLock { state -> Transferred<State>? in
      state.waiting -= 1
      if let error { state.failures[index] = error }
      return state.waiting == 0 ? Self.takeAll(&state) : nil
    }
    guard let end, let completion = end.value.completion else { return }
    completion(end.value.failures.keys.min().flatMap { end.value.failures[$0] })
  }

  /// Fails the group with `error` after this number of seconds, unless the group has ended by then.
  package func expire(after seconds: Int, on queue: DispatchQueue, error: any Error) {
    queue.asyncAfter(deadline: .now() + .seconds(seconds)) { self.expire(error) }
  }

  /// Cancels only the running uploads of this group. The completion may start new uploads at once, and they
  /// are not cancelled.
  private func expire(_ error: any Error) {
    let end = state.withLock { Self.takeAll(&$0) }
    guard let completion = end.value.completion else { return }
    for task in end.value.tasks { task.cancel() }
    completion(error)
  }

  private static func takeAll(_ state: inout State) -> Transferred<State> {
    defer {
      state.tasks = []
      state.failures = [:]
      state.completion = nil
    }
    return Transferred(state)
  }
}

/// Awaits a call with a completion handler. Throws the handler's error, even if the handler also gets a
/// value.
nonisolated(nonsending) package func awaitCompletion<Value>(
  _ start: (@escaping (Value?, (any Error)?) -> Void) -> Void
) async throws -> Value {
  try await awaitResult { (done: @escaping @Sendable (Result<Transferred<Value>, any Error>) -> Void) in
    start { value, error in
      if let value, error == nil { return done(.success(Transferred(value))) }
      done(.failure(error ?? StorageError.unknown(message: "There is no answer.", serverError: [:])))
    }
  }.value
}

extension StorageReference {
  /// Starts the upload of the bytes, or else of the local file. Returns nil if there is neither.
  package func upload(
    _ data: Data?, orFileAt url: URL?, metadata: StorageMetadata,
    completion: @escaping (StorageMetadata?, (any Error)?) -> Void
  ) -> StorageUploadTask? {
    if let data { return putData(data, metadata: metadata, completion: completion) }
    return url.map { putFile(from: $0, metadata: metadata, completion: completion) }
  }
}
