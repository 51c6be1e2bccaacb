// A live list of the objects of a query, in order.
//
// The path of a snapshot into `documents`:
//
//   1. The snapshot's changes join `arriving`, and their objects are created. An object is decoded, or loaded
//      if the document is a link. Then `parse`, if set, receives the object and may take time
//      (ChangeReceiver).
//   2. Snapshots leave `arriving` in arrival order. A snapshot leaves when all its objects exist or its
//      timeout has passed.
//   3. The changes of a snapshot are applied and reported one after the other (DataSource+Applying).
//
// All steps run on the callback queue. `parse` may call its closure on any thread.

public import FirebaseFirestore
public import Foundation
package import LayerKit

/// A live list of the objects of a query.
///
/// ```swift
/// let dataSource = Member.where(\.age, isGreaterThan: 17).dataSource()
///   .on { _, change in print(change) }
///   .listen()
/// ```
///
/// The list listens until `stop`, or until it is freed. A pending page read keeps the list alive until the
/// page is reported. Use the list on the callback queue only.
public final class DataSource<T: Document>: ExpressibleByArrayLiteral {
  public typealias ArrayLiteralElement = T
  public typealias Element = ArrayLiteralElement
  /// Receives a change of the list.
  public typealias ChangeBlock = (QuerySnapshot?, CollectionChange) -> Void
  /// Receives each new or changed object. The object that the block passes to the closure enters the list.
  /// The closure may be called on any thread.
  public typealias ParseBlock = (QuerySnapshot?, Element, @escaping ((Element) -> Void)) -> Void
  /// Receives the complete list.
  public typealias CompletedBlock = (QuerySnapshot?, [Element]) -> Void
  /// Receives an error of the list, such as a timeout.
  public typealias ErrorBlock = (QuerySnapshot?, DataSourceError) -> Void

  let query: Query
  let options: Options
  var rows: Rows<T>
  package var arriving = ChangeQueue<T>()
  /// The changes that contain the first objects.
  weak var firstChanges: PendingChanges<T>?
  var hasReportedFirst = false
  /// The number of times that the listening was ended.
  var stopCount = 0
  /// The ids that the listener has reported.
  var reportedIDs: Set<ExactKey> = []

  var changeBlock: ChangeBlock?
  var parseBlock: ParseBlock?
  var errorBlock: ErrorBlock?
  var batchBlock: ((QuerySnapshot?, BatchedChange) -> Void)?
  var listener: (any ListenerRegistration)?
  /// The last read document that can be a cursor. `next` starts after this document.
  var lastDocument: QueryDocumentSnapshot?
  /// The documents that were read after `lastDocument`.
  var readAfterCursor: Set<DocumentReference> = []

  /// Whether the last page was empty.
  public internal(set) var isLast = false
  /// Blocks that are called each time the list is complete.
  public var completedBlocks: [CompletedBlock] = []

  /// Creates a list for a query. The list is empty until `listen` or `get` is called.
  public init(reference: Query, options: Options = Options(), block: ChangeBlock? = nil) {
    query = reference
    self.options = options
    rows = Rows([], options.order)
    changeBlock = block
  }

  public required convenience init(arrayLiteral documents: Element...) { self.init(documents) }

  /// Creates a list of these objects, in this order, without a listener.
  public init(_ documents: [Element]) {
    query = T.query
    options = Options()
    rows = Rows(documents, .none)
  }

  deinit { listener?.remove() }

  // MARK: Objects

  /// The objects of the list.
  public var documents: [Element] {
    get { rows.elements }
    set { rows = Rows(newValue, options.order) }
  }

  public var count: Int { rows.count }

  // MARK: Blocks

  /// Calls the block with `.initial` when the first objects are in the list, and then once for each change of
  /// the list.
  @discardableResult
  public func on(_ block: ChangeBlock?) -> Self {
    changeBlock = block
    return self
  }

  /// Calls the block with each object before the object enters the list.
  @discardableResult
  public func on(parse block: ParseBlock?) -> Self {
    parseBlock = block
    return self
  }

  /// Calls the block with the whole list after each snapshot and each page. Blocks accumulate.
  @discardableResult
  public func onCompleted(_ block: CompletedBlock?) -> Self {
    if let block { completedBlocks.append(block) }
    return self
  }

  /// Calls the block for an error of the list, such as a timeout.
  @discardableResult
  public func onError(_ block: ErrorBlock?) -> Self {
    errorBlock = block
    return self
  }

  /// Calls the block after each snapshot and each page, with all changes together. This method is an addition
  /// to the original API.
  @discardableResult
  public func onBatch(_ block: ((QuerySnapshot?, BatchedChange) -> Void)?) -> Self {
    batchBlock = block
    return self
  }

  func report(_ error: any Error, _ snapshot: QuerySnapshot?) {
    if let error = error as? DataSourceError { errorBlock?(snapshot, error) }
    changeBlock?(snapshot, .error(error))
  }

  /// All changes of a snapshot.
  public struct BatchedChange {
    /// The list before the change.
    public let before: [Element]
    /// The list after the change.
    public let after: [Element]
    /// Indexes in `before`.
    public let deletions: [Int]
    /// Indexes in `after`.
    public let insertions: [Int]
    /// Indexes of modified objects in `after`.
    public let modifications: [Int]
  }
}

// MARK: Collection conformance

extension DataSource: Collection {
  public var startIndex: Int { 0 }
  public var endIndex: Int { count }
  public func index(after i: Int) -> Int { i + 1 }

  /// Returns the index of the first object that satisfies the predicate; nil if there is none.
  public func index(where predicate: (T) throws -> Bool) rethrows -> Int? {
    try rows.elements.firstIndex(where: predicate)
  }

  /// Returns the index of the object with the same id.
  public func index(of element: T) -> Int? { rows.index(of: element.id) }

  /// The first object; nil if there is none.
  public var first: Element? { rows.elements.first }
  /// The last object; nil if there is none.
  public var last: Element? { rows.elements.last }
  public subscript(index: Int) -> Element { rows.elements[index] }
  /// Calls the body with each object, in order.
  public func forEach(_ body: (T) throws -> Void) rethrows { try rows.elements.forEach(body) }

  /// Appends an object unless its id is in the list. Calls no block.
  public func insert(_ newMember: Element) { rows.append(newMember) }

  /// Removes the object with the same id. Calls no block.
  public func remove(_ member: Element) { _ = rows.remove(member.id) }
}

extension Array where Element: Document {
  /// The ids, in order.
  public var keys: [String] { map(\.id) }

  /// Returns the index of the object with this id; nil if there is none.
  public func index(of key: String) -> Int? { firstIndex { ExactKey($0.id) == ExactKey(key) } }

  /// Returns the index of the object with the same id.
  public func index(of document: Element) -> Int? { index(of: document.id) }

  /// Returns the objects sorted by the descriptors.
  public func sort(sortDescriptors: [NSSortDescriptor]) -> [Element] {
    sorted { ElementOrder.descriptors(sortDescriptors).areInIncreasingOrder($0, $1) }
  }
}

extension Sequence where Iterator.Element: Object {
  /// Returns the objects sorted by the descriptors.
  public func sort(sortDescriptors theSortDescs: [NSSortDescriptor]) -> [Self.Iterator.Element] {
    sorted { ElementOrder.descriptors(theSortDescs).areInIncreasingOrder($0, $1) }
  }
}
