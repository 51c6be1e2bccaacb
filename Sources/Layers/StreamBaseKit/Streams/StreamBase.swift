// Live items of a query, in order.
//
//   unfiltered items  what the listeners have, and what was added locally; `kitRecords`
//   visible items     those of them that the predicate accepts, in order, up to a limit, as of the last batch
//
// Invariants:
//   - A key whose visible state may differ from its record is pending, and a batch is on its way.
//   - What the delegate was told, applied in order, gives the visible items.
//   - All of it belongs to the callback queue.
//
// Internal members begin with `kit`: `@testable import` shows them to an app's subclasses.

public import FirebaseFirestore
public import Foundation
import LayerKit

/// The documents of a collection as items in order, kept up to date.
///
/// ```swift
/// let stream = StreamBase(
///   type: BaseItem.self, ref: Firestore.firestore().collection("notes"), limit: 50, ascending: false)
/// ```
///
/// It listens from the beginning until it is gone, and holds its delegate weakly. All of it happens on the
/// callback queue of the database, where it is to be made and used.
open class StreamBase: StreamBaseProtocol {
  /// Whether an item is shown.
  public typealias Predicate = (BaseItem) -> Bool
  /// Whether one item comes before another.
  public typealias Comparator = (BaseItem, BaseItem) -> Bool
  /// Makes the query for a page, from a value to another and of so many items.
  public typealias QueryPager = (_ start: Any?, _ end: Any?, _ limit: Int?) -> Query

  /// By key, or by the value of a field and then by key. Values that are missing or null come first, then
  /// false, true, numbers and text.
  public enum Ordering: Hashable {
    /// By the key.
    case key
    /// By a field.
    case child(String)

    // swift-format-ignore: AlwaysUseLowerCamelCase
    /// The same under its old name.
    public static var Key: Ordering { .key }
    // swift-format-ignore: AlwaysUseLowerCamelCase
    /// The same under its old name.
    public static func Child(_ name: String) -> Ordering { .child(name) }
  }

  /// Which of two items comes first.
  public let comparator: Comparator

  /// Changes are collected for so long after the last of them, and at most ten times as long. Nil applies
  /// them at once.
  public var batchDelay: TimeInterval? = 0.1

  /// Which of the items are visible; nil is all. Whoever sets it gets what that changes as one batch.
  public var predicate: Predicate? { didSet { kitReconsider() } }

  /// So many of the items that the predicate accepts are visible at most.
  public var afterPredicateLimit: Int? {
    didSet {
      precondition(afterPredicateLimit ?? 0 >= 0, "A limit is no less than 0.")
      guard afterPredicateLimit != oldValue else { return }
      kitPending.makeDue()
      kitBatchIsDue()
    }
  }

  /// Goes on reading where the predicate leaves fewer items than were asked for, also when items go.
  public var autoFetch = false

  public weak var delegate: (any StreamBaseDelegate)? { didSet { kitLoad.news(for: delegate)?.tell() } }

  // MARK: State

  let kitType: BaseItem.Type
  /// Nil for a stream that is not connected.
  let kitSource: QuerySource?
  /// The callback queue of its database; nil without one.
  let kitQueue: DispatchQueue?
  var kitRecords: [ExactKey: Record] = [:]
  var kitVisible: VisibleItems
  var kitPending = PendingKeys()
  /// Items whose records went, until the next batch.
  var kitDeparted: [BaseItem] = []
  /// Keys that changed in the event that is being received.
  var kitChangedInEvent: [ExactKey]?
  /// That event is over, and what it changed is not delivered yet.
  var kitIsEndingEvent = false
  var kitLoad: InitialLoad
  var kitLoadIsDue = false
  var kitIsAnnouncing = false
  var kitHasAnotherRound = false
  var kitIsFetching = false
  var kitReach = Reach.first
  /// The listeners, in the order of their ranges; the first is the one that the stream began with.
  var kitSegments: [StreamSegment] = []
  var kitSegmentCount = 0
  var kitInflight: Inflight?
  package var kitTimer: any BatchTimer

  // MARK: Making

  /// Empty, without a query, by key.
  public init() {
    kitType = BaseItem.self
    kitSource = nil
    kitQueue = nil
    kitVisible = VisibleItems(StreamOrder())
    comparator = StreamOrder().comparator
    kitLoad = InitialLoad(isOver: true)
    kitTimer = QueueTimer(.main)
  }

  /// The query asks for one more than `limit`, so that `count > limit` says that there are more. Ascending
  /// takes the first, descending the last ones.
  public convenience init(
    type: BaseItem.Type, ref: CollectionReference, limit: Int? = nil, ascending: Bool = true,
    ordering: Ordering = .key
  ) {
    let builder = QueryBuilder(ref: ref)
    builder.limit = limit
    builder.ascending = ascending
    builder.ordering = ordering
    self.init(type: type, queryBuilder: builder)
  }

  /// Follows what the builder asks.
  public init(type: BaseItem.Type, queryBuilder: QueryBuilder) {
    let source = queryBuilder.kitSource
    kitType = type
    kitVisible = VisibleItems(source.order)
    comparator = queryBuilder.buildComparator()
    let queue = source.ref.firestore.callbackQueue
    kitQueue = queue
    kitTimer = QueueTimer(queue)
    // A limit of nothing needs no query.
    let isConnected = queryBuilder.limit != 0
    kitLoad = InitialLoad(isOver: !isConnected)
    kitSource = isConnected ? source : nil
    if isConnected { kitConnect(source) }
  }

  /// Of items that are there already, in an order, to go through them. No initialiser, since a subclass has
  /// those of its base only if it knows all of them.
  static func kitListing(_ items: [BaseItem], _ order: StreamOrder) -> StreamBase {
    let stream = StreamBase()
    stream.kitVisible = VisibleItems(order)
    for case (let key?, let item) in items.map({ ($0.key, $0) }) {
      stream.kitRecords[ExactKey(key)] = Record(item: item)
    }
    _ = stream.kitVisible.update(stream.kitRecords.map { ($0.key, $0.value.item) }, limit: nil)
    return stream
  }

  deinit {
    kitTimer.cancel()
    for segment in kitSegments { segment.stop() }
  }

  /// Traps if something is not where it belongs. Linear.
  package func kitCheckInvariants() { kitVisible.checkInvariants() }

  // MARK: For subclasses

  /// An item was made from a record, and is not in the stream yet.
  open func didConstructItem(_ item: BaseItem) {}

  // MARK: Looking

  open func find(_ key: String) -> BaseItem? { kitVisible.item(ExactKey(key)) }

  open func findIndexPath(_ key: String) -> IndexPath? {
    kitVisible.row(ExactKey(key)).map { IndexPath(row: $0, section: 0) }
  }

  /// Of the first visible item that comes after this one, which need not be in the stream.
  open func findFirstIndexPathAfter(_ item: BaseItem) -> IndexPath? {
    kitVisible.firstRow(after: item).map { IndexPath(row: $0, section: 0) }
  }

  /// Of the last visible item that comes before this one, which need not be in the stream.
  open func findLastIndexPathBefore(_ item: BaseItem) -> IndexPath? {
    kitVisible.lastRow(before: item).map { IndexPath(row: $0, section: 0) }
  }

  // MARK: More

  /// Whether there may be something behind what was read. It is known once the load is over, and after a
  /// `fetchMore` when that is done: as long as it brings what it was asked for, there may be more. When there
  /// is not, what comes behind the last record is followed.
  public var hasMore: Bool { kitFrontier != nil }

  /// Brings up to `count` records that come after the one with the key `start`, up to `end` if there is one,
  /// and keeps them up to date. `start` is where to go on in the direction of the stream, so its last item's
  /// key, also in a descending one. It is meant for the order by keys; in the order by a child, `start` has
  /// to be the key of an item in the stream, or a value of the child.
  ///
  /// `done` is called once: when the records are on their way into the stream, when they could not be read,
  /// or at once if the stream is empty or another call is under way. Offline, a page can neither begin nor
  /// end at a time that the remote has still to set: then it is done without a record, and there is more all
  /// the same; ask again when the stream changes.
  open func fetchMore(_ count: Int, start: String, end: String? = nil, done: (() -> Void)? = nil) {
    guard kitSource != nil, !kitIsFetching, count > 0, !kitRecords.isEmpty else {
      done?()
      return
    }
    kitFetch(count, from: start, to: end, done)
  }

  /// An item has changed, or the stream is to take notice of something that is not stored. If it is in the
  /// stream, this delivers what is pending, and then the change: as `streamItemsChanged`, or as a batch if it
  /// comes, goes or moves.
  open func handleItemChanged(_ item: BaseItem) {
    guard let key = item.key.map(ExactKey.init), kitRecords[key] != nil else { return }
    guard kitChangedInEvent == nil else {
      kitChangedInEvent?.append(key)
      return
    }
    guard !kitIsAnnouncing else { return kitAnnounceChanged([key]) }
    kitApplyPending()
    if kitSettles(key) { kitAnnounceChanged([key]) }
  }

  /// Lets `fn` edit all items, the invisible ones too, in whatever order; what that changes comes as a batch.
  /// It takes time in proportion to all of them.
  public func batching(_ fn: (KeyedArray<BaseItem>) -> Void) {
    let copy = KeyedArray(rawArray: kitRecords.values.map(\.item))
    fn(copy)
    for key in kitRecords.keys where !copy.has(key.text) { kitDrop(key) }
    for item in copy { kitPut(item) }
    kitBatchIsDue()
  }
}

/// An unfiltered item.
struct Record {
  var item: BaseItem
  /// The listeners that have it; none for what was added locally.
  var holders: [Int] = []
  /// Of the document, so that each state of it is taken once.
  var version: Int64?
}

extension StreamBase: RandomAccessCollection {
  public var startIndex: Int { 0 }
  public var endIndex: Int { kitVisible.count }
  public subscript(i: Int) -> BaseItem { kitVisible[i] }

  public func makeIterator() -> IndexingIterator<StreamBase> {
    kitVisible.prepareToIterate()
    return IndexingIterator(_elements: self)
  }
}
