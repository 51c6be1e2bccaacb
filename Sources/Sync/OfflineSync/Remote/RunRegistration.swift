// The registration of the runs whose batches a client sends.

/// A run of a client, as the client names it when it opens a write stream.
///
/// An authority that remembers accepted batches cannot remember them for ever. It gives each run a token that
/// proves when the run was registered. A batch that comes with a token whose run the authority has forgotten
/// may have been accepted long ago. The authority refuses it, instead of applying it twice.
public struct RunRegistration: Sendable, Hashable {
  /// The name of the queue: one user on one client.
  public var queue: String
  /// The run that created batches.
  public var run: RunID
  /// The token that the remote gave for this run before; empty if there is none.
  public var token: [UInt8]

  /// Creates a registration.
  public init(queue: String, run: RunID, token: [UInt8] = []) {
    self.queue = queue
    self.run = run
    self.token = token
  }
}
