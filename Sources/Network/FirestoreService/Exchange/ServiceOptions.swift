// Options and limits of a service.

package import ByteStore
package import FirestoreWire

/// Options of a service.
public struct ServiceOptions: Sendable {
  /// A transaction ends when no call has used it for this number of seconds.
  public var transactionIdleSecondsMax = 60
  /// A transaction ends this number of seconds after its beginning.
  public var transactionSecondsMax = 270
  /// The maximum number of open transactions of a database. Each keeps a snapshot.
  public var transactionsMax = 1000
  /// The maximum number of open transactions of one connection, or of one user where the connection is not
  /// known. Does not apply where neither is known.
  public var transactionsPerConnectionMax = 100
  /// The maximum number of requests on a write stream that wait for earlier ones.
  public var waitingWritesMax = 100
  /// The maximum number of requests on a watch stream that wait for earlier ones.
  public var waitingTargetsMax = 2000
  /// The maximum number of writes in a batch whose writes succeed or fail on their own.
  public var batchWritesMax = 500
  /// Whether reads can ask for any time of the last minute. If not, they can ask for the present, and for the
  /// times of open read-only transactions. Costs the space of the data that was replaced in that minute.
  public var keepsRecentSnapshots = true
  /// The maximum number of documents or collections in a page.
  public var pageMax = 300
  /// Called at each limit that refuses work, on any thread, and while nothing is locked.
  package var onRefusal: (@Sendable (ServiceRefusal) -> Void)?
  /// Limits on messages.
  package var wireLimits = WireLimits.standard
  package var clock = ServiceClock.system
  package var random: any RandomSource = SystemRandom()

  /// Creates options with the limits of Firestore.
  public init() {}
}
