// The queries that read the records of a stream.

import FirebaseCore
public import FirebaseFirestore
private import Foundation
import LayerKit

/// Builds the query of a stream.
///
/// ```swift
/// let builder = QueryBuilder(Firestore.firestore().collection("notes"))
/// builder.limit = 50
/// builder.ascending = false
/// builder.ordering = .child("rank")
/// ```
open class QueryBuilder {
  /// The maximum number of records. Nil means no limit. A stream for a negative limit traps.
  public var limit: Int?
  /// Whether the order is ascending.
  public var ascending = true
  /// The order of the records.
  public var ordering = StreamBase.Ordering.key
  /// The key, or the value of the child, at which the stream starts. In a descending stream, this is the
  /// upper end of the range.
  public var start: Any?
  /// The key, or the value of the child, at which the stream ends. In a descending stream, this is the lower
  /// end of the range.
  public var end: Any?
  private let ref: CollectionReference

  /// Creates a builder for all records of a collection.
  public init(ref: CollectionReference) { self.ref = ref }

  /// Creates a builder for all records of a collection.
  public convenience init(_ ref: CollectionReference) { self.init(ref: ref) }

  func buildComparator() -> StreamBase.Comparator { kitOrder.comparator }

  /// Returns a function that builds the query of a page.
  func buildQueryPager() -> StreamBase.QueryPager {
    let source = kitSource
    return { start, end, limit in
      source.query(from: start.map { .values([$0]) }, to: end.map { .values([$0]) }, limit: limit)
    }
  }

  func buildQuery() -> Query { kitSource.first }

  var kitOrder: StreamOrder {
    var order = StreamOrder(isAscending: ascending, firestore: ref.firestore)
    if case .child(let name) = ordering { order.child = name }
    return order
  }

  var kitSource: QuerySource {
    var ref = ref
    if let limit, limit < 0 {
      ProgrammerError.report("A limit is not negative.")
      ref = ref.firestore.collection(PathText.placeholder)
    }
    return QuerySource(
      ref: ref, order: kitOrder, limit: limit.map { max($0, 0) }, start: start.map { .values([$0]) },
      end: end.map { .values([$0]) }
    )
  }
}

/// The queries of a stream. All of them have the same order and direction.
struct QuerySource {
  let ref: CollectionReference
  let order: StreamOrder
  let limit: Int?
  let start: Cursor?
  let end: Cursor?

  /// A position in the order.
  enum Cursor {
    /// The values of all ordering fields, or the value of the first ordering field only.
    case values([Any])
    case document(DocumentSnapshot)
  }

  /// Whether a cursor is exactly at this document.
  func isAt(_ cursor: Cursor, _ document: DocumentSnapshot) -> Bool {
    let key = ExactKey(document.documentID)
    switch cursor {
    case .document(let other): return ExactKey(other.documentID) == key
    case .values(let values):
      // In an order by a child, the value of the child alone does not identify a document.
      guard values.count == (order.child == nil ? 1 : 2) else { return false }
      return (values.last as? String).map(ExactKey.init) == key
    }
  }

  /// Whether `cursor` comes after `other`. A cursor that consists only of a value of the child comes before
  /// all records with that value.
  func isAfter(_ cursor: Cursor, _ other: Cursor) -> Bool {
    let (place, start) = place(of: cursor)
    let (otherPlace, otherStart) = self.place(of: other)
    if start != otherStart { return order.areInOrder(otherStart, start) }
    guard let place else { return false }
    return otherPlace.map { order.areInOrder($0, place) } ?? true
  }

  /// Returns two positions. `place` is the position of the cursor's document; nil if the cursor does not
  /// identify a document. `start` is the position before all records with the cursor's value.
  private func place(of cursor: Cursor) -> (place: StreamOrder.Place?, start: StreamOrder.Place) {
    let key: String?
    let bytes: [UInt8]
    switch cursor {
    case .document(let document):
      key = document.documentID
      // Uses the sort bytes of the stored field, because `data()` returns null for a pending server
      // timestamp.
      bytes = order.child.map(document.sortBytes) ?? []
    case .values(let values):
      key = values.count == (order.child == nil ? 1 : 2) ? values.last as? String : nil
      bytes = order.child == nil ? [] : SortBytes.of(values.first, in: order.firestore)
    }
    return (
      key.map { StreamOrder.Place(value: bytes, key: $0) }, StreamOrder.Place(value: bytes, key: "")
    )
  }

  /// The first query of a stream. It reads one record more than the limit.
  var first: Query { query(from: start, to: end, limit: limit.map { $0 + 1 }) }

  /// Returns the query for the range from `start` to `end`. The range includes both.
  func query(from start: Cursor?, to end: Cursor?, limit: Int?) -> Query {
    var query = ordered
    switch start {
    case .values(let values)?: query = query.start(at: values)
    case .document(let document)?: query = query.start(atDocument: document)
    case nil: break
    }
    switch end {
    case .values(let values)?: query = query.end(at: values)
    case .document(let document)?: query = query.end(atDocument: document)
    case nil: break
    }
    return limit.map { query.limit(to: $0) } ?? query
  }

  private var ordered: Query {
    guard let child = order.child else {
      return ref.order(by: FieldPath.documentID(), descending: !order.isAscending)
    }
    return ref.ordered(byChild: child, descending: !order.isAscending)
  }

  /// Returns the cursor for a key. `item` is the stream's item with this key; nil if the stream has no such
  /// item.
  func cursor(_ key: String, _ item: BaseItem?) -> Cursor {
    guard let child = order.child, let item else { return .values([key]) }
    let value = item.dict[child]
    // A pending server timestamp cannot be a cursor, and its local estimate sorts at another position.
    guard item.kitPendingTime(child, SortBytes.of(value, in: order.firestore)) == nil else {
      return .values([Self.lastTime])
    }
    return .values([value ?? NSNull(), key])
  }

  /// Returns the cursor at a document. If the document has a pending server timestamp, the document cannot be
  /// a cursor. In descending order, all documents with pending timestamps come before the latest possible
  /// time, so that time is the cursor. In ascending order, no cursor lies between the document and those
  /// after it, so the result is nil.
  func cursor(beside document: DocumentSnapshot) -> Cursor? {
    if ordered.canStart(beside: document) { return .document(document) }
    return order.isAscending ? nil : .values([Self.lastTime])
  }

  private static let lastTime = Timestamp(seconds: 253_402_300_799, nanoseconds: 999_999_999)
}
