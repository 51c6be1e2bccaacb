// The documents of a query as objects, kept in order while they change.
//
// The way of a snapshot into `documents`:
//
//   1. it joins `arriving`, and each of its documents is made into an object, by `retrieve` if there is one, which may
//      take its time (PendingChanges)
//   2. snapshots leave `arriving` in their order, each when all of its objects are there, or its time is up
//   3. its changes are applied to the list, and the blocks are told (DataSource+Applying)
//
// All of it happens on the callback queue, or in the task that loops over `changes`; `retrieve` may answer anywhere.

public import FirebaseFirestore
private import Foundation
package import LayerKit

/// The documents of a query as objects of a type.
///
/// ```swift
/// let dataSource = Document<Item>.query.order(by: "name").dataSource()
///   .onChanged { _, snapshot in print(snapshot.after.keys) }
///   .listen()
/// ```
///
/// It listens as long as it is kept, and until `stop`. A page that is being read keeps it until the page is told. Use it
/// on the callback queue only.
public final class DataSource<T: Object & DataRepresentable>: ExpressibleByArrayLiteral {
  public typealias ArrayLiteralElement = T
  public typealias Element = ArrayLiteralElement
  /// Makes the object of a document: `done` is to be called once, on any thread, with nil to leave the document out.
  public typealias RetrieveBlock = (
    QuerySnapshot?, QueryDocumentSnapshot, @escaping ((Element?) -> Void)
  ) -> Void
  /// What is told of a change: the database's snapshot, and the list before and after.
  public typealias ChangedBlock = (QuerySnapshot?, Snapshot) -> Void
  /// What is told when `retrieve` has not answered in time.
  public typealias ErrorBlock = (QuerySnapshot?, DataSourceError) -> Void
  /// The elements that are gone, new and changed.
  public typealias Changes = (deletions: [Element], insertions: [Element], modifications: [Element])

  var list: DocumentList<T>
  package var arriving = ChangeQueue<T>()

  var retrieveBlock: RetrieveBlock?
  var changedBlock: ChangedBlock?
  var timeoutBlock: ErrorBlock?
  var errorBlock: ((QuerySnapshot?, any Error) -> Void)?
  var listener: (any ListenerRegistration)?
  /// Whoever else is told what `onChanged` is.
  var observers: [ObjectIdentifier: ChangedBlock] = [:]
  /// The loop that runs over the changes.
  weak var loop: ChangeLoop<T>?
  let route = EventRoute<T>()
  /// The listening that goes on, or the last one.
  var listening: Listening?
  /// The last document that was read; `next` and `listen` begin behind it.
  var lastDocument: QueryDocumentSnapshot?

  var hasTold = false

  /// What was listened to.
  struct Listening {
    /// The document that it began behind.
    var start: QueryDocumentSnapshot?
    /// What was heard last.
    var heard: QuerySnapshot?
    /// What the listening before it left in the list, until this one has been told all of it anew.
    var replaced: QuerySnapshot?
  }

  // Unchecked, because the block may be called on any thread, as its contract says.
  private struct Answer: @unchecked Sendable {
    let done: (Element?) -> Void
  }

  /// What the source began with.
  public private(set) var query: Query
  /// What the list was made with.
  public private(set) var option: Option
  /// Whether a read found nothing more. Never false again.
  public internal(set) var isLast = false
  /// False once a read or a snapshot came back with fewer documents than the limit of the query, or with none.
  public internal(set) var hasMore = true

  /// Makes a list for a query; it is empty until it listens.
  public init(reference: Query, option: Option = Option()) {
    query = reference
    self.option = option
    list = DocumentList([], reference.order)
  }

  /// Documents that are there already, in this order. Nothing is listened to.
  public init(_ documents: [Element]) {
    query = T.query
    option = Option()
    list = DocumentList(documents, .latestUpdate)
  }

  public required convenience init(arrayLiteral documents: Element...) { self.init(documents) }

  deinit { listener?.remove() }

  /// What `next` reads, and `listen` listens to.
  var current: Query { page(behind: lastDocument) }

  func page(behind document: QueryDocumentSnapshot?) -> Query {
    document.map(query.start(afterDocument:)) ?? query
  }

  // MARK: Documents

  /// In order. After a change, the array is made anew: to look at one of many documents, ask the source itself.
  public var documents: [Element] {
    get { list.keptElements() }
    set { list.set(newValue) }
  }

  public var count: Int { list.count }

  // MARK: Blocks

  /// How the object of a document is made, if not by decoding it.
  @discardableResult
  public func retrieve(from block: RetrieveBlock?) -> Self {
    retrieveBlock = block
    return self
  }

  /// The same with a block that may wait; nil leaves the document out.
  @discardableResult
  public func retrieve(
    from block: @escaping @Sendable (QuerySnapshot?, QueryDocumentSnapshot) async -> Element?
  ) -> Self {
    retrieve { source, document, done in
      let answer = Answer(done: done)
      Task { answer.done(await block(source, document)) }
    }
  }

  /// Called after each snapshot, when `documents` is as it says.
  @discardableResult
  public func onChanged(_ block: ChangedBlock?) -> Self {
    changedBlock = block
    return self
  }

  /// Keeps the documents in this order rather than in that of the query, or of their updates; what is there is sorted
  /// at once. If the order throws, things stay where they are.
  @discardableResult
  public func sorted(by areInIncreasingOrder: @escaping (T, T) throws -> Bool) rethrows -> Self {
    list.setOrder(.user(areInIncreasingOrder))
    return self
  }

  /// Called when `retrieve` has not answered in time.
  @discardableResult
  public func onError(_ block: ErrorBlock?) -> Self {
    timeoutBlock = block
    return self
  }

  /// Called with whatever goes wrong: an error of the database, which ends the listening; a document that does not
  /// decode, which is left out; a `retrieve` that has not answered in time.
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

/// Why a list cannot be made.
public enum DataSourceError: Error, Sendable {
  /// A `retrieve` block has not answered in time. What it answers later still counts.
  case timeout

  var description: String {
    switch self {
    case .timeout: "A document was not retrieved in time."
    }
  }
}
