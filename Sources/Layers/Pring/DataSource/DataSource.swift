// The documents of a query as objects, kept in order while they change.
//
// The way of a snapshot into `documents`:
//
//   1. it joins `arriving`, and the object of each of its changes is made: decoded, or loaded if the document is a link,
//      and then handed to `parse` if there is one, which may take its time (PendingChanges)
//   2. snapshots leave `arriving` in their order, each when all of its objects are there, or its time is up
//   3. its changes are applied one after the other, and each is told (DataSource+Applying)
//
// All of it happens on the callback queue; `parse` may answer anywhere.

public import FirebaseFirestore
public import Foundation
package import LayerKit

/// The documents of a query as objects of a class.
///
/// ```swift
/// let dataSource = Member.where(\.age, isGreaterThan: 17).dataSource()
///   .on { _, change in print(change) }
///   .listen()
/// ```
///
/// It listens as long as it is kept, and until `stop`. A page that is being read keeps it until the page is told. Use it
/// on the callback queue only.
public final class DataSource<T: Document>: ExpressibleByArrayLiteral {
  public typealias ArrayLiteralElement = T
  public typealias Element = ArrayLiteralElement
  /// What is told of a change.
  public typealias ChangeBlock = (QuerySnapshot?, CollectionChange) -> Void
  /// Gets each object that comes or has changed. It enters the list when the closure is called with it, on any thread.
  public typealias ParseBlock = (QuerySnapshot?, Element, @escaping ((Element) -> Void)) -> Void
  /// What is told when the list is complete.
  public typealias CompletedBlock = (QuerySnapshot?, [Element]) -> Void
  /// What is told when listening fails.
  public typealias ErrorBlock = (QuerySnapshot?, DataSourceError) -> Void

  let query: Query
  let options: Options
  var rows: Rows<T>
  package var arriving = ChangeQueue<T>()
  /// The changes that bring the first objects.
  weak var firstChanges: PendingChanges<T>?
  var hasFirst = false
  /// How often the listening was ended.
  var stops = 0
  /// The ids of what the listener has told.
  var heard: Set<ExactKey> = []

  var changeBlock: ChangeBlock?
  var parseBlock: ParseBlock?
  var errorBlock: ErrorBlock?
  var batchBlock: ((QuerySnapshot?, BatchedChange) -> Void)?
  var listener: (any ListenerRegistration)?
  /// The last document that was read, of those that a page can begin behind; `next` does.
  var lastDocument: QueryDocumentSnapshot?
  /// What was read behind that one.
  var readBehind: Set<DocumentReference> = []

  /// Whether a page was empty.
  public internal(set) var isLast = false
  /// Told each time that the list is complete.
  public var completedBlocks: [CompletedBlock] = []

  /// A list for a query; it is empty until it listens.
  public init(reference: Query, options: Options = Options(), block: ChangeBlock? = nil) {
    query = reference
    self.options = options
    rows = Rows([], options.order)
    changeBlock = block
  }

  public required convenience init(arrayLiteral documents: Element...) { self.init(documents) }

  /// Objects that are there already, in this order. Nothing is listened to.
  public init(_ documents: [Element]) {
    query = T.query
    options = Options()
    rows = Rows(documents, .none)
  }

  deinit { listener?.remove() }

  // MARK: Objects

  /// What the list has.
  public var documents: [Element] {
    get { rows.elements }
    set { rows = Rows(newValue, options.order) }
  }

  public var count: Int { rows.count }

  // MARK: Blocks

  /// Called with `.initial` when the first objects are there, and then once for each change of one of them.
  @discardableResult
  public func on(_ block: ChangeBlock?) -> Self {
    changeBlock = block
    return self
  }

  /// Completes each object before it enters the list.
  @discardableResult
  public func on(parse block: ParseBlock?) -> Self {
    parseBlock = block
    return self
  }

  /// Called after each snapshot and each page with the whole list. Every block that is added is called.
  @discardableResult
  public func onCompleted(_ block: CompletedBlock?) -> Self {
    if let block { completedBlocks.append(block) }
    return self
  }

  /// The block is told when listening fails.
  @discardableResult
  public func onError(_ block: ErrorBlock?) -> Self {
    errorBlock = block
    return self
  }

  /// Called after each snapshot and each page with all of its changes at once. Not in the original.
  @discardableResult
  public func onBatch(_ block: ((QuerySnapshot?, BatchedChange) -> Void)?) -> Self {
    batchBlock = block
    return self
  }

  func report(_ error: any Error, _ snapshot: QuerySnapshot?) {
    if let error = error as? DataSourceError { errorBlock?(snapshot, error) }
    changeBlock?(snapshot, .error(error))
  }

  /// The changes of a snapshot together.
  public struct BatchedChange {
    /// The list before the change.
    public let before: [Element]
    /// The list after the change.
    public let after: [Element]
    /// Where they were in `before`.
    public let deletions: [Int]
    /// Where they are in `after`.
    public let insertions: [Int]
    /// Places of what changed, in the list after it.
    public let modifications: [Int]
  }
}

// MARK: A collection of its documents

extension DataSource: Collection {
  public var startIndex: Int { 0 }
  public var endIndex: Int { count }
  public func index(after i: Int) -> Int { i + 1 }

  /// Where the first object is for which the predicate is true; nil if there is none.
  public func index(where predicate: (T) throws -> Bool) rethrows -> Int? {
    try rows.elements.firstIndex(where: predicate)
  }

  /// By the id.
  public func index(of element: T) -> Int? { rows.index(of: element.id) }

  /// The first object; nil if there is none.
  public var first: Element? { rows.elements.first }
  /// The last object; nil if there is none.
  public var last: Element? { rows.elements.last }
  public subscript(index: Int) -> Element { rows.elements[index] }
  /// Calls the body with each object, in order.
  public func forEach(_ body: (T) throws -> Void) rethrows { try rows.elements.forEach(body) }

  /// Appends what is not there, and tells nobody.
  public func insert(_ newMember: Element) { rows.append(newMember) }

  /// Removes the object with the same id, and tells nobody.
  public func remove(_ member: Element) { _ = rows.remove(member.id) }
}

extension Array where Element: Document {
  /// The ids, in order.
  public var keys: [String] { map(\.id) }

  /// Where the object with this id is; nil if it is not here.
  public func index(of key: String) -> Int? { firstIndex { ExactKey($0.id) == ExactKey(key) } }

  /// By the id.
  public func index(of document: Element) -> Int? { index(of: document.id) }

  /// In the order of the descriptors.
  public func sort(sortDescriptors: [NSSortDescriptor]) -> [Element] {
    sorted { ElementOrder.descriptors(sortDescriptors).areInIncreasingOrder($0, $1) }
  }
}

extension Sequence where Iterator.Element: Object {
  /// In the order of the descriptors.
  public func sort(sortDescriptors theSortDescs: [NSSortDescriptor]) -> [Self.Iterator.Element] {
    sorted { ElementOrder.descriptors(theSortDescs).areInIncreasingOrder($0, $1) }
  }
}
