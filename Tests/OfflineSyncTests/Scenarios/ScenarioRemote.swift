// The remote of a scenario: what a run tells it to send, and what the client has asked it for.

import DocumentStore
import OfflineSync

/// A remote that opens streams at once, sends only the messages that the scenario specifies, and records the
/// client's requests. Used on one thread.
protocol ScenarioRemote: AnyObject {
  /// The remote as the client uses it.
  var client: any Remote { get }
  /// The targets that the client watches on its open stream.
  var targets: [TargetID: WatchTarget] { get }
  var watchRequestCount: Int64 { get }
  var writeRequestCount: Int64 { get }

  /// Sends a message on the watch stream. `version` is the time of the snapshot that it belongs to.
  func send(_ change: WatchChange, at version: SnapshotVersion) throws(ScenarioFailure)
  /// Ends the watch stream.
  func endWatch(_ error: RemoteError?) throws(ScenarioFailure)
  /// Takes the oldest batch that was not taken yet.
  func takeBatch() throws(ScenarioFailure) -> [Mutation]
  /// Accepts the batch that was taken last.
  func accept(_ batch: [Mutation], at version: SnapshotVersion) throws(ScenarioFailure)
  /// Ends the write stream. An error is that of the oldest batch.
  func endWrite(_ error: RemoteError?) throws(ScenarioFailure)

  /// Throws if the client has broken a rule of its streams, or if an open stream is not one of this user.
  func check(user: String?) throws(ScenarioFailure)
}
