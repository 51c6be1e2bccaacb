// A live, ordered list of the items of a query.
//
//   unfiltered items  the records of the listeners, and locally added items (`kitRecords`)
//   visible items     the unfiltered items that the predicate accepted at the last batch, in order, up to a
//                     limit
//
// Invariants:
//   - A key whose visible state may differ from its record is pending, and a batch is scheduled.
//   - The changes that were reported to the delegate, applied in order, give the visible items.
//   - All state is accessed on the callback queue only.
//
// Internal members begin with `kit`, because `@testable import` makes them visible to an app's subclasses.

private import FirebaseCore
public import FirebaseFirestore
public import Foundation
import LayerKit

/// A live, ordered list of the documents of a collection.
///
/// ```swift
/// let stream = StreamBase(
///   type: BaseItem.self, ref: Firestore.firestore().collection("notes"), limit: 50, ascending: false)
/// ```
///
/// A stream listens from its creation until it is freed. It references its delegate weakly. Create and use a
/// stream on the callback queue of the database. The stream calls its delegate on the same queue.
open class StreamBase: StreamBaseProtocol {
  /// A function that returns whether an item is visible.
  public typealias Predicate = (BaseItem) -> Bool
  /// A function that returns whether the first item comes before the second.
  public typealias Comparator = (BaseItem, BaseItem) -> Bool
  /// A function that returns the query of a page: from a start value to an end value, with a limit.
  public typealias QueryPager = (_ start: Any?, _ end: Any?, _ limit: Int?) -> Query

  /// An order by key, or by the value of a field and then by key. Missing and null values come first, then
  /// false, true, numbers and text.
  public enum Ordering: Hashable {
    /// By the key.
    case key
    /// By a field.
    case child(String)

    // swift-format-ignore: AlwaysUseLowerCamelCase
    /// The former name of `key`.
    public static var Key: Ordering { .key }
    // swift-format-ignore: AlwaysUseLowerCamelCase
    /// The former name of `child`.
    public static func Child(_ name: String) -> Ordering { .child(name) }
  }

  /// A function that returns whether the first item comes before the second.
  public let comparator: Comparator

  /// The time from the last change to the delivery of a batch. Each further change restarts this time, but
  /// the total delay is at most ten times this value. Nil delivers changes at once.
  public var batchDelay: TimeInterval? = 0.1

  /// A function that decides which items are visible; nil makes all items visible. Setting the predicate
  /// delivers the resulting changes as one batch.
  public var predicate: Predicate? { didSet { kitReapplyPredicate() } }

  /// The maximum number of visible items after the predicate is applied. Nil means no limit.
  /// Traps for a negative number.
  public var afterPredicateLimit: Int? {
    didSet {
      if let limit = afterPredicateLimit, limit < 0 {
        ProgrammerError.report("A limit is not negative.")
        afterPredicateLimit = oldValue
        return
      }
      guard afterPredicateLimit != oldValue else { return }
      kitPending.makeDue()
      kitScheduleBatch()
    }
  }

  /// Whether the stream reads further records when the predicate leaves fewer items than the limit. This also
  /// applies after items were deleted.
  public var autoFetch = false

  public weak var delegate: (any StreamBaseDelegate)? {
    didSet { kitLoad.pendingNotice(for: delegate)?.notify() }
  }

  // MARK: State

  let kitType: BaseItem.Type
  /// The queries of the stream; nil if it is not connected.
  let kitSource: QuerySource?
  /// The callback queue of the database; nil if the stream has no database.
  let kitQueue: DispatchQueue?
  var kitRecords: [ExactKey: Record] = [:]
  var kitVisible: VisibleItems
  var kitPending = PendingKeys()
  /// Items whose records were removed since the last batch.
  var kitRemovedItems: [BaseItem] = []
  /// Keys that changed in the event that is being received; nil between events.
  var kitChangedInEvent: [ExactKey]?
  /// Whether an event is over but its changes are not delivered yet.
  var kitIsEndingEvent = false
  var kitLoad: InitialLoad
  var kitLoadIsDue = false
  var kitIsAnnouncing = false
  var kitHasAnotherRound = false
  var kitIsFetching = false
  var kitReadPosition = ReadPosition.first
  /// The ranges to which the stream listens. The first range covers the start of the stream.
  var kitSegments: [StreamSegment] = []
  var kitSegmentCount = 0
  var kitInflight: Inflight?
  package var kitTimer: any BatchTimer

  // MARK: Initialization

  /// Creates an empty stream that has no query and is ordered by key.
  public init() {
    kitType = BaseItem.self
    kitSource = nil
    kitQueue = nil
    kitVisible = VisibleItems(StreamOrder())
    comparator = StreamOrder().comparator
    kitLoad = InitialLoad(isOver: true)
    kitTimer = QueueTimer(.main)
  }

  /// Creates a stream of a collection. If `ascending` is true, the stream contains the first records of the
  /// order, up to the limit. Otherwise it contains the last records, in descending order. The query reads one
  /// record more than `limit`, so `count > limit` means that there are more records.
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

  /// Creates a stream of the builder's query.
  public init(type: BaseItem.Type, queryBuilder: QueryBuilder) {
    let source = queryBuilder.kitSource
    kitType = type
    kitVisible = VisibleItems(source.order)
    comparator = queryBuilder.buildComparator()
    let queue = source.ref.firestore.callbackQueue
    kitQueue = queue
    kitTimer = QueueTimer(queue)
    // A limit of 0 needs no query.
    let isConnected = queryBuilder.limit != 0
    kitLoad = InitialLoad(isOver: !isConnected)
    kitSource = isConnected ? source : nil
    if isConnected { kitConnect(source) }
  }

  /// Returns a stream of existing items, for iteration. This is a static method because subclasses inherit
  /// the convenience initializers only if they override all designated initializers. Another designated
  /// initializer would be one more to override.
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

  /// Traps if an item is in the wrong row. Takes linear time.
  package func kitCheckInvariants() { kitVisible.checkInvariants() }

  // MARK: For subclasses

  /// Called when an item was created from a record, before the item enters the stream.
  open func didConstructItem(_ item: BaseItem) {}

  // MARK: Lookup

  open func find(_ key: String) -> BaseItem? { kitVisible.item(ExactKey(key)) }

  open func findIndexPath(_ key: String) -> IndexPath? {
    kitVisible.row(ExactKey(key)).map { IndexPath(row: $0, section: 0) }
  }

  /// Returns the path of the first visible item after `item`. `item` need not be in the stream.
  open func findFirstIndexPathAfter(_ item: BaseItem) -> IndexPath? {
    kitVisible.firstRow(after: item).map { IndexPath(row: $0, section: 0) }
  }

  /// Returns the path of the last visible item before `item`. `item` need not be in the stream.
  open func findLastIndexPathBefore(_ item: BaseItem) -> IndexPath? {
    kitVisible.lastRow(before: item).map { IndexPath(row: $0, section: 0) }
  }

  // MARK: Pages

  /// Whether there may be records after those that were read. The value is valid after the initial load and
  /// after each completed `fetchMore`. As long as each `fetchMore` gets as many records as it requested,
  /// there may be more. Once the end was reached, the stream adds new records after the last one without a
  /// `fetchMore`.
  public var hasMore: Bool { kitFrontier != nil }

  /// Reads up to `count` records after the record with the key `start`, but not beyond `end`, and keeps the
  /// records up to date. `start` follows the direction of the stream. It is therefore usually the key of the
  /// last item, even in a descending stream. In an order by a child, `start` must be the key of an item in
  /// the stream, or a value of the child.
  ///
  /// `done` is called once: when the records are about to enter the stream, or when the read has failed. It
  /// is called at once if the stream is empty or another `fetchMore` is pending. While the app is offline, a
  /// page can neither start nor end at a pending server timestamp. If it would have to, `done` is called
  /// without new records and `hasMore` stays true. In this case, call `fetchMore` again when the stream
  /// changes.
  open func fetchMore(_ count: Int, start: String, end: String? = nil, done: (() -> Void)? = nil) {
    guard kitSource != nil, !kitIsFetching, count > 0, !kitRecords.isEmpty else {
      done?()
      return
    }
    kitFetch(count, from: start, to: end, done)
  }

  /// Reports that an item has changed. The change may be in properties that are not stored. If the item is in
  /// the stream, pending changes are delivered first. Then the change is reported with `streamItemsChanged`.
  /// If the item's row appears, disappears or moves, the change is reported as a batch instead.
  open func handleItemChanged(_ item: BaseItem) {
    guard let key = item.key.map(ExactKey.init), kitRecords[key] != nil else { return }
    guard kitChangedInEvent == nil else {
      kitChangedInEvent?.append(key)
      return
    }
    guard !kitIsAnnouncing else { return kitAnnounceChanged([key]) }
    kitApplyPending()
    if kitStaysInRow(key) { kitAnnounceChanged([key]) }
  }

  /// Calls `fn`, which may edit all items in any order, including the invisible items. The changes are
  /// delivered as one batch. Takes time proportional to the number of items.
  public func batching(_ fn: (KeyedArray<BaseItem>) -> Void) {
    let copy = KeyedArray(rawArray: kitRecords.values.map(\.item))
    fn(copy)
    for key in kitRecords.keys where !copy.has(key.text) { kitDrop(key) }
    for item in copy { kitPut(item) }
    kitScheduleBatch()
  }
}

/// An unfiltered item.
struct Record {
  var item: BaseItem
  /// The ids of the listeners whose ranges contain the record; empty if the record was added locally.
  var holders: [Int] = []
  /// The version of the document, which ensures that each version is processed only once.
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
