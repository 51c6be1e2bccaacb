// Exclusive access to something that exists once per process.

/// An asynchronous mutex. Waiting tasks get the mutex in order of arrival and do not block a thread.
package actor AsyncMutex {
  /// Serializes the use of the default app and its stores.
  package static let defaultApp = AsyncMutex()

  private var isTaken = false
  private var waiting: [CheckedContinuation<Void, Never>] = []

  package func acquire() async {
    guard isTaken else {
      isTaken = true
      return
    }
    await withCheckedContinuation { waiting.append($0) }
  }

  package func release() {
    if waiting.isEmpty { isTaken = false } else { waiting.removeFirst().resume() }
  }

  /// Holds the mutex while `body` runs.
  nonisolated package func during(_ body: @Sendable () async throws -> Void) async throws {
    await acquire()
    let result: Result<Void, any Error>
    do { result = .success(try await body()) } catch { result = .failure(error) }
    await release()
    try result.get()
  }
}
