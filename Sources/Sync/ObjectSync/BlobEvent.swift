// The events that the object client processes, and the effects that it requests.
//
// Effects on the remote and on the store are performed at once. The comment beside such an effect names the
// event that answers it; the machine handles that event before any other.

import DocumentStore
import ObjectStore
import OfflineSync

/// A number that identifies the call of a user: a wait, a cancellation, an update or a listing.
struct BlobCallID: Hashable, Comparable, Sendable {
  let value: Int

  static func < (left: Self, right: Self) -> Bool { left.value < right.value }
}

/// The state of an object in the store.
struct LocalObject: Sendable {
  var object: StoredObject?
  /// Whether changes of the object are pending.
  var isWaiting = false
  /// Whether the content of the object is known to be unreadable.
  var isDamaged = false
}

/// The outcome of a change, as decided by the remote or by the client.
enum ChangeOutcome: Sendable {
  case done(RemoteObjectMetadata?)
  /// The remote has no such object.
  case absent
  case reverted(BlobSyncError)
}

/// One call to the remote that sends a part of a change, and its answer.
enum SendCall: Sendable {
  case offset(session: String)
  /// Reads `count` bytes of the local content and appends them to the session.
  case append(StoredObject, session: String, offset: UInt64, count: Int)
  case finish(StoredObject, session: String)
  case delete(ObjectPath)
  case update(ObjectPath, AttributeChanges)
}

enum SendAnswer: Sendable {
  case offset(UInt64)
  case appended
  case finished(RemoteObjectMetadata)
  /// Whether the remote had the object.
  case deleted(Bool)
  case updated(Bool)
}

/// The reason why a search reads the store.
enum LocalRead: Sendable {
  /// To decide whether to ask the remote.
  case lookUp
  /// To return what has arrived.
  case answer
  /// Because the client has stopped working.
  case afterFailure(BlobSyncError)
}

enum BlobEvent: Sendable {
  // From users.
  case start
  case queued(QueuedChange, timeout: Int64?)
  case cancel(Int64, BlobCallID)
  case hold(Int64)
  case release(Int64)
  case wait(BlobCallID)
  case updateAtRemote(BlobCallID, ObjectPath, AttributeChanges, timeout: Int64)
  case find(BlobSync.Search, ObjectPath, FetchLimits)
  case holdSearch(BlobSync.Search)
  case releaseSearch(BlobSync.Search)
  /// Ends a search with this error.
  case endSearch(BlobSync.Search, BlobSyncError)
  case list(BlobCallID, ListedFolder, after: String?, limit: Int)
  case stop

  // From the scheduler.
  case timer(BlobTimer)
  /// The next step of the change that is being sent; a step with an old number was superseded.
  case step(Int)
  case resume(BlobSync.Search)
  case answer(BlobSync.Search)

  // Answers about changes.
  case sent(Result<SendAnswer, BlobSyncError>)
  case recorded(QueuedChange, ChangeOutcome, Result<StoredObject?, DocumentStoreError>)
  case updatedAtRemote(BlobCallID, Result<RemoteObject?, BlobSyncError>)

  // Answers about searches.
  case localRead(BlobSync.Search, LocalRead, Result<LocalObject, DocumentStoreError>)
  /// Nil if the remote has no such object.
  case described(BlobSync.Search, LocalObject, Result<RemoteObject?, BlobSyncError>)
  case descriptionReceived(
    BlobSync.Search, StoredObject, RemoteObject, Result<StoredObject?, DocumentStoreError>)
  case arrivalOpened(BlobSync.Search, isRereading: Bool)
  case reread(BlobSync.Search, Result<RereadPiece, DocumentStoreError>)
  /// Nil if the remote has another content by now.
  case pieceRead(BlobSync.Search, Result<[UInt8]?, BlobSyncError>)
  case appended(BlobSync.Search, Result<UInt64, DocumentStoreError>)
  /// False if the checksum of the content differs from the checksum in the description.
  case received(BlobSync.Search, Result<Bool, DocumentStoreError>)

  // Answers about listings.
  case remotePage(BlobCallID, Result<RemoteListing, BlobSyncError>)
  case waitingRead(BlobCallID, Result<[ObjectName: Bool], DocumentStoreError>)
  case localPage(BlobCallID, Result<ObjectPage, DocumentStoreError>)
}

enum BlobEffect: Sendable {
  // About changes.
  case send(SendCall)  // sent
  /// Closes the local content that `append` has opened.
  case closeContent
  case abandon(session: String)
  case record(QueuedChange, ChangeOutcome)  // recorded
  case updateAtRemote(BlobCallID, ObjectPath, AttributeChanges)  // updatedAtRemote

  // About searches.
  case readLocal(BlobSync.Search, ObjectPath, LocalRead)  // localRead
  case describe(BlobSync.Search, ObjectPath, LocalObject)  // described
  case receiveAbsence(ObjectPath)
  case forgetArrivals(ObjectPath)
  case receiveDescription(BlobSync.Search, StoredObject, RemoteObject)  // descriptionReceived
  /// Begins the arrival of a content, or resumes a staged part of it.
  case openArrival(BlobSync.Search, ObjectPath, RemoteObject, resumes: Bool)  // arrivalOpened
  case reread(BlobSync.Search)  // reread
  case readPiece(BlobSync.Search, RemoteObject, from: UInt64, count: Int)  // pieceRead
  case append(BlobSync.Search, [UInt8])  // appended
  case receive(BlobSync.Search, ObjectPath, RemoteObject)  // received
  /// Ends an arrival without storing its content.
  case closeArrival(BlobSync.Search, keepsStagedPart: Bool)

  // About listings.
  case requestPage(BlobCallID, bucket: String, prefix: String, after: String?, count: Int)  // remotePage
  case readWaiting(BlobCallID, ListedFolder, after: String?, upTo: String?)  // waitingRead
  case listLocally(BlobCallID, ListedFolder, after: String?, limit: Int)  // localPage

  // To the scheduler.
  /// Handles the event after everything that is already scheduled.
  case later(BlobEvent)
  case startTimer(BlobTimer, microseconds: Int64)
  case stopTimer(BlobTimer)

  // To users.
  case progress(Int64, UInt64)
  case endChange(Int64, Result<StoredObject?, BlobSyncError>)
  case endCancellation(BlobCallID, Bool)
  case endWait(BlobCallID, BlobSyncError?)
  case endUpdate(BlobCallID, Result<RemoteObject?, BlobSyncError>)
  case searchProgress(BlobSync.Search, UInt64, of: UInt64)
  case endSearch(BlobSync.Search, Result<BlobSync.Found, BlobSyncError>)
  case endListing(BlobCallID, Result<ObjectPage, BlobSyncError>)
}

enum BlobTimer: Hashable, Sendable {
  /// The next attempt after the remote was unreachable.
  case retry
  /// The next attempt of a change that failed alone.
  case attempt(Int64)
  /// The timeout of a change's watcher.
  case timeout(Int64)
  case update(BlobCallID)
  case search(BlobSync.Search)
}
