// The events that the sync engine processes, and the effects that it requests.

package import DocumentStore

/// A number chosen by the driver that identifies a write or a wait.
package struct CallID: Hashable, Comparable, Sendable {
  package let value: Int

  package init(_ value: Int) { self.value = value }

  package static func < (left: Self, right: Self) -> Bool { left.value < right.value }
}

/// A user's write in a group.
package struct UserWrite: Sendable {
  package var mutations: [PendingMutation]
  package var time: StoredTimestamp
  package var call: CallID

  package init(mutations: [PendingMutation], time: StoredTimestamp, call: CallID) {
    self.mutations = mutations
    self.time = time
    self.call = call
  }
}

package enum SyncEvent: Sendable {
  // From users.
  case listen(ListenerID, StructuredQuery, ListenRules)
  case unlisten(ListenerID)
  case listenToSync(ListenerID)
  case unlistenToSync(ListenerID)
  case write([Mutation], at: StoredTimestamp, CallID?)
  case cancelWrite(BatchID)
  case discardWrites(of: String?)
  case discardExported(ExportedWrites)
  case importWrites(ExportedWrites)
  /// The app has seen a rejection of a user.
  case rejectionSeen(BatchID, of: String?)
  case waitForPendingWrites(CallID)
  case changeUser(String?)
  case enableNetwork
  case disableNetwork
  case networkChanged(NetworkStatus)
  case setNetworkUse(NetworkUse)
  case collect(threshold: UInt64, percentile: Int)
  case load(BundleContents)

  // From the remote.
  case watchOpened
  case watchChanged(WatchChange, SnapshotVersion)
  case watchClosed(RemoteError?)
  case writeOpened
  case registered([RunID: [UInt8]])
  case handshakeComplete(token: [UInt8])
  case writeAnswered(SnapshotVersion, [WriteResult], token: [UInt8])
  case writeClosed(RemoteError?)
  case writeOvertaken
  case lookedUp(BatchID, Result<[RemoteDocument], RemoteError>)
  case credentialsChanged

  case timer(SyncTimer)
}

extension SyncEvent {
  /// Whether the event has no effect if the disk is full, so that the client continues without it.
  var mayFailAlone: Bool {
    switch self {
    case .cancelWrite, .discardWrites, .discardExported, .importWrites, .rejectionSeen, .changeUser, .collect,
      .load:
      true
    case .listen, .unlisten, .listenToSync, .unlistenToSync, .write, .waitForPendingWrites, .enableNetwork,
      .disableNetwork, .networkChanged, .setNetworkUse, .watchOpened, .watchChanged, .watchClosed,
      .writeOpened, .registered, .handshakeComplete, .writeAnswered, .writeClosed, .writeOvertaken, .lookedUp,
      .credentialsChanged, .timer:
      false
    }
  }
}

package enum SyncEffect: Sendable {
  /// The connections of the remote are those of another network.
  case renewConnections
  case openWatch(user: String?)
  case watch(WatchTarget)
  case unwatch(TargetID)
  case closeWatch
  case openWrite(user: String?)
  case handshake(token: [UInt8], runs: [RunRegistration])
  case send(RemoteWrite)
  case closeWrite
  /// Requests the current versions of a refused batch's documents.
  case lookUp(BatchID, [DocumentPath], user: String?)
  case startTimer(SyncTimer, microseconds: Int64)
  case stopTimer(SyncTimer)

  case notify(ListenerID, ViewSnapshot)
  case failListener(ListenerID, RemoteError)
  /// Notifies a listener of a refusal. The listener stays registered.
  case refuse(ListenerID, RemoteRefusal)
  case notifySync(ListenerID)
  /// Completes a write; the error is nil if the remote accepted it.
  case finishWrite(CallID, RemoteError?)
  case finishWait(CallID, RemoteError?)
  /// The client takes no changes from the remote, because the disk is full.
  case paused(DocumentStoreError)
  /// The client takes changes from the remote again.
  case resumed
  /// Reports a rejected write, whether a caller waits for it or not. Its local effect is already reverted.
  /// `dropped` older ones were dropped, because more are kept than the limits allow.
  case rejected(Rejection, dropped: Int)
}
