// Exclusive access to something that exists once per process.

/// An asynchronous mutex. Waiting tasks get the mutex in order of arrival and do not block a thread.
package actor Turn {
  /// Serializes the use of the default app and its stores.
  package static let defaultApp = Turn()

  private var isTaken = false
  private var waiting: [CheckedContinuation<Void, Never>] = []

  package func take() async {
    guard isTaken else {
      isTaken = true
      return
    }
    await withCheckedContinuation { waiting.append($0) }
  }

  package func giveBack() {
    if waiting.isEmpty { isTaken = false } else { waiting.removeFirst().resume() }
  }

  /// Holds the mutex while `body` runs.
  nonisolated package func during(_ body: @Sendable () async throws -> Void) async throws {
    await take()
    let result: Result<Void, any Error>
    do { result = .success(try await body()) } catch { result = .failure(error) }
    await giveBack()
    try result.get()
  }
}
