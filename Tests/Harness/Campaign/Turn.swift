// Taking turns with something of which a process has one.

/// Whoever takes it has it until it is given back; the others wait, in the order in which they came, without a thread.
package actor Turn {
  /// The app without a name, and with it the stores that belong to it.
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

  /// Takes it for as long as `body` runs.
  nonisolated package func during(_ body: @Sendable () async throws -> Void) async throws {
    await take()
    let result: Result<Void, any Error>
    do { result = .success(try await body()) } catch { result = .failure(error) }
    await giveBack()
    try result.get()
  }
}
