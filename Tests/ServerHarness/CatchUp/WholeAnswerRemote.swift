// A remote that answers every target as a whole, as Firestore's emulator does.

#if Server
import DocumentStore
import OfflineSync

/// Passes everything on, and leaves out the number of documents that a client has. A server that does not
/// have all changes since a token then resets the target.
struct WholeAnswerRemote: Remote {
  private let remote: any Remote

  init(_ remote: any Remote) { self.remote = remote }

  var documentsName: String { remote.documentsName }
  var networkMonitor: (any NetworkMonitor)? { remote.networkMonitor }

  func networkDidChange() { remote.networkDidChange() }

  func observeCredentials(_ handler: @escaping @Sendable () -> Void) -> @Sendable () -> Void {
    remote.observeCredentials(handler)
  }

  func openWatchStream(
    as user: String?, _ handler: @escaping @Sendable (WatchStreamEvent) -> Void
  ) -> any WatchStream { Stream(stream: remote.openWatchStream(as: user, handler)) }

  func openWriteStream(
    as user: String?, _ handler: @escaping @Sendable (WriteStreamEvent) -> Void
  ) -> any WriteStream { remote.openWriteStream(as: user, handler) }

  func documents(
    at paths: [DocumentPath], as user: String?,
    _ answer: @escaping @Sendable (Result<[RemoteDocument], RemoteError>) -> Void
  ) { remote.documents(at: paths, as: user, answer) }

  func commit(
    _ mutations: [Mutation], as user: String?,
    _ answer: @escaping @Sendable (Result<SnapshotVersion, RemoteError>) -> Void
  ) { remote.commit(mutations, as: user, answer) }

  func aggregate(
    _ aggregates: [Aggregate], over query: StructuredQuery, as user: String?,
    _ answer: @escaping @Sendable (Result<[StoredValue], RemoteError>) -> Void
  ) { remote.aggregate(aggregates, over: query, as: user, answer) }

  private struct Stream: WatchStream {
    let stream: any WatchStream

    func watch(_ target: WatchTarget) {
      var target = target
      target.expectedCount = nil
      stream.watch(target)
    }

    func unwatch(_ id: TargetID) { stream.unwatch(id) }
    func close() { stream.close() }
  }
}
#endif
