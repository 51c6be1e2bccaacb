// Which records a stream has.

import FirebaseCore
public import FirebaseFirestore
private import Foundation
import LayerKit

/// The query of a stream.
///
/// ```swift
/// let builder = QueryBuilder(Firestore.firestore().collection("notes"))
/// builder.limit = 50
/// builder.ascending = false
/// builder.ordering = .child("rank")
/// ```
open class QueryBuilder {
  /// Nil is everything.
  public var limit: Int?
  /// Whether the least comes first.
  public var ascending = true
  /// By what it sorts.
  public var ordering = StreamBase.Ordering.key
  /// The key, or the value of the child, that the stream starts with, in its own direction.
  public var start: Any?
  /// The key, or the value of the child, that the stream ends with.
  public var end: Any?
  private let ref: CollectionReference

  /// Asks all of a collection.
  public init(ref: CollectionReference) { self.ref = ref }

  /// Asks all of a collection.
  public convenience init(_ ref: CollectionReference) { self.init(ref: ref) }

  func buildComparator() -> StreamBase.Comparator { kitOrder.comparator }

  /// Each query is built from the beginning.
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
    precondition(limit ?? 0 >= 0, "A limit is no less than 0.")
    return QuerySource(
      ref: ref, order: kitOrder, limit: limit, start: start.map { .values([$0]) },
      end: end.map { .values([$0]) }
    )
  }
}

/// The queries of a stream: all over one order, in the direction of the stream.
struct QuerySource {
  let ref: CollectionReference
  let order: StreamOrder
  let limit: Int?
  let start: Cursor?
  let end: Cursor?

  /// A place in the order, and what is there.
  enum Cursor {
    /// Of the fields that order, or the first of them.
    case values([Any])
    case document(DocumentSnapshot)
  }

  /// Whether a cursor names just this document.
  func isAt(_ cursor: Cursor, _ document: DocumentSnapshot) -> Bool {
    let key = ExactKey(document.documentID)
    switch cursor {
    case .document(let other): return ExactKey(other.documentID) == key
    case .values(let values):
      // In the order by a child, a value alone names nobody.
      guard values.count == (order.child == nil ? 1 : 2) else { return false }
      return (values.last as? String).map(ExactKey.init) == key
    }
  }

  /// Whether one place comes behind another. A value of the child alone is where the records with it begin.
  func isBehind(_ cursor: Cursor, _ other: Cursor) -> Bool {
    let (place, start) = place(of: cursor)
    let (otherPlace, otherStart) = self.place(of: other)
    if start != otherStart { return order.areInOrder(otherStart, start) }
    guard let place else { return false }
    return otherPlace.map { order.areInOrder($0, place) } ?? true
  }

  /// Where a cursor is, nil if it names nobody; and what all records with its value have in common.
  private func place(of cursor: Cursor) -> (place: StreamOrder.Place?, start: StreamOrder.Place) {
    let key: String?
    let bytes: [UInt8]
    switch cursor {
    case .document(let document):
      key = document.documentID
      // Of the document itself: there, a time that the remote has still to set is not the null that `data()`
      // has.
      bytes = order.child.map(document.sortBytes) ?? []
    case .values(let values):
      key = values.count == (order.child == nil ? 1 : 2) ? values.last as? String : nil
      bytes = order.child == nil ? [] : SortBytes.of(values.first, in: order.firestore)
    }
    return (
      key.map { StreamOrder.Place(value: bytes, key: $0) }, StreamOrder.Place(value: bytes, key: "")
    )
  }

  /// What a stream begins with: one record more than its limit.
  var first: Query { query(from: start, to: end, limit: limit.map { $0 + 1 }) }

  /// Both ends belong to it.
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

  /// Where to go on behind a key, of which a stream may have the item.
  func cursor(_ key: String, _ item: BaseItem?) -> Cursor {
    guard let child = order.child, let item else { return .values([key]) }
    let value = item.dict[child]
    // No query can begin at a time that the remote has still to set; what this machine has for it is
    // somewhere else.
    guard item.kitPendingTime(child, SortBytes.of(value, in: order.firestore)) == nil else {
      return .values([Self.lastTime])
    }
    return .values([value ?? NSNull(), key])
  }

  /// The place of a document. No query can begin or end at a time that the remote has still to set;
  /// descending, those are all before the last time that there is. Nil where nothing is between them and what
  /// follows.
  func cursor(beside document: DocumentSnapshot) -> Cursor? {
    if ordered.canStart(beside: document) { return .document(document) }
    return order.isAscending ? nil : .values([Self.lastTime])
  }

  private static let lastTime = Timestamp(seconds: 253_402_300_799, nanoseconds: 999_999_999)
}
