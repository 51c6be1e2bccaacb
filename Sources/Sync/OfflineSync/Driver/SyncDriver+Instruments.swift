// Counts and reports of the work of a client.

internal import ByteStore
internal import DocumentStore
internal import Synchronization

/// Counts that any thread may read.
final class SyncCounts: Sendable {
  let pendingWrites = Atomic(0)
  let listeners = Atomic(0)
  let isPaused = Atomic(false)
}

extension SyncDriver {
  /// The number of writes of the current user that the remote has not answered, as of the last event.
  package var pendingWriteCount: Int { counts.pendingWrites.load(ordering: .relaxed) }

  /// The number of listeners that are not reads of a single result.
  package var listenerCount: Int { counts.listeners.load(ordering: .relaxed) }

  /// Whether the client takes no changes from the remote, because the disk is full.
  package var isPausedByFullDisk: Bool { counts.isPaused.load(ordering: .relaxed) }

  func recordPendingWrites() {
    let count = engine.pendingWriteCount
    guard counts.pendingWrites.exchange(count, ordering: .relaxed) != count else { return }
    recorder.measures?.gauge(.pendingWrites, is: count)
  }

  func recordListeners(_ name: InstrumentName, _ fields: [InstrumentEvent.Field] = []) {
    counts.listeners.store(lasting.count, ordering: .relaxed)
    recorder.emit(name, .debug, fields: fields + [.init("listeners", .count(lasting.count))])
    recorder.measures?.gauge(.listeners, is: lasting.count)
  }

  func recordConnection(of stream: String) {
    recorder.emit(.syncConnected, .info, fields: [.init("stream", .text(stream))])
  }

  func recordClosing(of stream: String, _ error: RemoteError?) {
    recorder.emit(
      .syncDisconnected, error == nil ? .info : .warning,
      fields: [.init("stream", .text(stream)), .init("error", .text(error?.description ?? "none"))])
  }
}
