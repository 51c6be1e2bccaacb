// A live list of the objects of a query, in order.
//
// A snapshot reaches `documents` in these steps:
//
// 1. The snapshot's changes are added to `arriving`, and their objects are created. If `retrieve` is set, it
//    creates the objects and may take time (ChangeReceiver).
// 2. Changes leave `arriving` in their order. Each leaves when all its objects exist or its timeout has
//    passed.
// 3. The changes are applied to the list, and the blocks are called (DataSource+Applying).
//
// All steps run on the callback queue, or in the task that loops over `changes`. `retrieve` may return its
// result on any thread.

private import FirebaseCore
public import FirebaseFirestore
private import Foundation
package import LayerKit

/// A live list of the objects of a query.
///
/// ```swift
/// let dataSource = Document<Item>.query.order(by: "name").dataSource()
///   .onChanged { _, snapshot in print(snapshot.after.keys) }
///   .listen()
/// ```
///
/// The source listens until `stop` is called or the source is freed. A page that is being read keeps the
/// source alive until the page is reported. Use the source on the callback queue only.
public final class DataSource<T: Object & DataRepresentable>: ExpressibleByArrayLiteral {
  public typealias ArrayLiteralElement = T
  public typealias Element = ArrayLiteralElement
  /// A block that creates the object of a document. The block must call its closure once, on any thread. If
  /// it passes nil, the document is left out.
  public typealias RetrieveBlock = (
    QuerySnapshot?, QueryDocumentSnapshot, @escaping ((Element?) -> Void)
  ) -> Void
  /// A block that receives a change: the snapshot of the database, and the list before and after the change.
  public typealias ChangedBlock = (QuerySnapshot?, Snapshot) -> Void
  /// A block that receives the error when a `retrieve` block does not answer in time.
  public typealias ErrorBlock = (QuerySnapshot?, DataSourceError) -> Void
  /// Deleted, inserted and modified elements.
  public typealias Changes = (deletions: [Element], insertions: [Element], modifications: [Element])

  var list: DocumentList<T>
  package var arriving = ChangeQueue<T>()

  var retrieveBlock: RetrieveBlock?
  var changedBlock: ChangedBlock?
  var timeoutBlock: ErrorBlock?
  var errorBlock: ((QuerySnapshot?, any Error) -> Void)?
  var listener: (any ListenerRegistration)?
  /// Further blocks that receive the same changes as `onChanged`.
  var observers: [ObjectIdentifier: ChangedBlock] = [:]
  /// The running loop over `changes`.
  weak var loop: ChangeLoop<T>?
  let route = EventRoute<T>()
  /// The state of the current listener, or of the last one.
  var listening: Listening?
  /// The last document that was read. `next` and `listen` start after this document.
  var lastDocument: QueryDocumentSnapshot?

  var hasNotified = false

  /// The state of one listener of the source.
  struct Listening {
    /// The document after which the listener started.
    var start: QueryDocumentSnapshot?
    /// The last snapshot.
    var received: QuerySnapshot?
    /// The last snapshot of the previous listener. The documents of that snapshot are in the list until this
    /// listener reports all documents.
    var replaced: QuerySnapshot?
  }

  /// The query of the source.
  public private(set) var query: Query
  /// The options of the source.
  public private(set) var option: Option
  /// Whether a read found no more documents. Once true, it stays true.
  public internal(set) var isLast = false
  /// Whether the query may have more documents. False after a read that found none. Also false after a read
  /// or a snapshot with fewer documents than the limit of the query, or if the query has no limit.
  public internal(set) var hasMore = true

  /// Creates a list for a query. The list is empty until `listen` or `get` is called.
  public init(reference: Query, option: Option = Option()) {
    query = reference
    self.option = option
    list = DocumentList([], reference.order)
  }

  /// Creates a list of these documents, in this order, without a listener.
  public init(_ documents: [Element]) {
    query = T.query
    option = Option()
    list = DocumentList(documents, .latestUpdate)
  }

  public required convenience init(arrayLiteral documents: Element...) { self.init(documents) }

  deinit { listener?.remove() }

  /// The query that `next` and `listen` run.
  var current: Query { page(after: lastDocument) }

  func page(after document: QueryDocumentSnapshot?) -> Query {
    document.map(query.start(afterDocument:)) ?? query
  }

  // MARK: Documents

  /// The documents in order. Each change discards the array, so use the source itself to access single
  /// documents.
  public var documents: [Element] {
    get { list.cacheElements() }
    set { list.set(newValue) }
  }

  public var count: Int { list.count }

  // MARK: Blocks

  /// Sets the block that creates the object of a document in place of the decoder.
  @discardableResult
  public func retrieve(from block: RetrieveBlock?) -> Self {
    retrieveBlock = block
    return self
  }

  /// Sets an asynchronous block that creates the object of a document. If the block returns nil, the document
  /// is left out.
  @discardableResult
  public func retrieve(
    from block: @escaping @Sendable (QuerySnapshot?, QueryDocumentSnapshot) async -> Element?
  ) -> Self {
    retrieve { source, document, done in
      // The contract of `RetrieveBlock` allows a call of `done` on any thread.
      let answer = Transferred(done)
      Task { answer.value(await block(source, document)) }
    }
  }

  /// Calls the block after each snapshot, when `documents` is up to date.
  @discardableResult
  public func onChanged(_ block: ChangedBlock?) -> Self {
    changedBlock = block
    return self
  }

  /// Orders the documents by the closure, at once and after each later change. If the closure throws, no
  /// document moves.
  @discardableResult
  public func sorted(by areInIncreasingOrder: @escaping (T, T) throws -> Bool) rethrows -> Self {
    list.setOrder(.user(areInIncreasingOrder))
    return self
  }

  /// Calls the block when `retrieve` has not answered in time.
  @discardableResult
  public func onError(_ block: ErrorBlock?) -> Self {
    timeoutBlock = block
    return self
  }

  /// Calls the block for every error. After a database error, the source no longer listens. A document that
  /// cannot be decoded is left out. The timeout of a `retrieve` block is reported too.
  @discardableResult
  public func onError(_ block: @escaping (QuerySnapshot?, any Error) -> Void) -> Self {
    errorBlock = block
    return self
  }

  func report(_ error: any Error, _ snapshot: QuerySnapshot?) {
    if let error = error as? DataSourceError { timeoutBlock?(snapshot, error) }
    errorBlock?(snapshot, error)
  }
}

// MARK: Options and errors

extension DataSource {
  /// The options of a data source.
  public struct Option: Sendable {
    /// Seconds that `retrieve` may take before `onError` reports a timeout.
    public var timeout: Int = 10
    /// Whether `onChanged` is not called for snapshots that change metadata alone.
    public var skipsMetadataChanges = false

    /// A timeout of ten seconds; metadata changes are reported.
    public init() {}
  }
}

/// An error of a data source, besides those of the database.
public enum DataSourceError: Error, Sendable {
  /// A `retrieve` block did not answer in time. If the block answers later, its object is still applied to
  /// the list.
  case timeout

  var description: String {
    switch self {
    case .timeout: "A document was not retrieved in time."
    }
  }
}
