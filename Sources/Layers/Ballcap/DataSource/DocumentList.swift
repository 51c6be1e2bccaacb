// The documents of a data source. The list is a plain array until its first edit. Then it becomes an
// `OrderedList`, in which edits take logarithmic time, and the array is created again only on demand.
//
// Invariants:
// - The list has an array or rows, or both with the same content.
// - Only elements that the user has set or appended may have a reference twice. The last element with the
//   reference then counts, and an edit of the reference leaves only one element.
// - If `isOrdered`, each element is at the position that the order gave it.
// - `ids` is nil or contains the ids of all elements. The first lookup that finds no equal reference sets
//   `ids`.
//
// A copy shares the storage until one of the two lists is edited. The edit copies the whole storage.

import FirebaseFirestore
import LayerKit

/// The changes of one update of a list.
typealias DocumentListChange = ListChange<DocumentReference, PlacedDocument>

struct DocumentList<T: Object & DataRepresentable> {
  /// The source of the documents of the array's elements. Used only while the list has no rows.
  private enum Listing {
    case own
    /// The snapshots that the elements were created from.
    case found([QueryDocumentSnapshot])
    case listed([ListedDocument])
    case placed([PlacedDocument])
  }

  private var order: PlacedDocumentOrder
  /// Whether the order is the order of the query.
  private var isInQueryOrder: Bool
  private var array: [T]?
  private var listing = Listing.own
  private(set) var rows = OrderedList<DocumentReference, PlacedDocument>(recordsEdits: true)
  private var ids: [String: [DocumentReference]]?
  private var hasRows = false
  private(set) var isOrdered: Bool

  init(_ elements: [T] = [], _ order: DocumentOrder<T>) {
    self.init(elements, PlacedDocumentOrder(order), isInQueryOrder: order.isQuery)
  }

  private init(_ elements: [T], _ order: PlacedDocumentOrder, isInQueryOrder: Bool) {
    array = elements
    self.order = order
    self.isInQueryOrder = isInQueryOrder
    isOrdered = elements.isEmpty
  }

  var count: Int { array?.count ?? rows.count }

  // MARK: Looking

  private static func typed(_ placed: PlacedDocument) -> T { placed.element as! T }

  subscript(index: Int) -> T { array?[index] ?? Self.typed(rows[index]) }

  /// Creates the array, unless it is kept.
  var elements: [T] { array ?? rows.map(Self.typed) }

  /// Returns the elements and keeps the array until the next edit.
  mutating func cacheElements() -> [T] {
    let elements = elements
    array = elements
    return elements
  }

  func contains(_ reference: DocumentReference) -> Bool { rows.contains(reference) }

  /// Needs the rows.
  func index(of reference: DocumentReference) -> Int? { rows.row(reference) }

  func element(_ reference: DocumentReference) -> T? { rows.element(reference).map(Self.typed) }

  /// Whether any reference is listed more than once. Needs the rows.
  var hasDuplicateReferences: Bool { rows.hasDuplicateKeys }

  /// Returns the reference of the first element with the same id. It may belong to another document.
  mutating func reference(of element: T) -> DocumentReference? {
    buildRowsIfNeeded()
    if contains(element.documentReference) { return element.documentReference }
    let ids = ids ?? allIDs()
    self.ids = ids
    guard let same = ids[element.id], same.count > 1 else { return ids[element.id]?.first }
    return same.min { (index(of: $0) ?? .max) < (index(of: $1) ?? .max) }
  }

  private func allIDs() -> [String: [DocumentReference]] {
    var ids: [String: [DocumentReference]] = [:]
    rows.forEach { ids[$0.element.id, default: []].append($0.reference) }
    return ids
  }

  // MARK: All at once

  /// Replaces all elements with these elements, in this order. An element that was already listed keeps the
  /// reference under which it was listed.
  mutating func set(_ elements: [T]) {
    var known: [ObjectIdentifier: ListedDocument] = [:]
    buildRowsIfNeeded()
    rows.forEach { known[ObjectIdentifier($0.element)] = $0.document }
    self = DocumentList(elements, order, isInQueryOrder: isInQueryOrder)
    listing = .listed(
      elements.map { known[ObjectIdentifier($0)] ?? ListedDocument($0, at: $0.documentReference) })
  }

  /// Fills the empty list with the first documents of the query, which arrive in the order of the query. Does
  /// not build the rows.
  mutating func fill(_ elements: [T], _ found: [QueryDocumentSnapshot]) {
    precondition(count == 0, "only an empty list is filled")
    self = DocumentList(elements, order, isInQueryOrder: isInQueryOrder)
    listing = .found(found)
    isOrdered = true
    if isInQueryOrder { return }
    let placed = placed()
    let sorted = OrderedList.sortedIndices(placed, in: order).map { placed[$0] }
    array = sorted.map(Self.typed)
    listing = .placed(sorted)
  }

  mutating func setOrder(_ order: DocumentOrder<T>) {
    self.order = PlacedDocumentOrder(order)
    isInQueryOrder = order.isQuery
    sort()
  }

  /// Sorts the list. If the order throws, no element moves. Moves as few elements as possible, and returns
  /// the references of the elements that moved.
  @discardableResult
  mutating func sort() -> [DocumentReference] {
    let moved = hasRows ? rows.sort(in: order) : rows.replaceAll(sorting: placed(again: true), in: order)
    array = nil
    listing = .own
    ids = nil
    hasRows = true
    isOrdered = true
    return moved
  }

  /// Returns the elements of the array in their present order. If `again` is true, the positions follow from
  /// the present content of the elements.
  private func placed(again: Bool = false) -> [PlacedDocument] {
    let elements = array ?? []
    switch listing {
    case .own: return elements.map { order.place(ListedDocument($0, at: $0.documentReference)) }
    case .found(let found): return zip(elements, found).map { order.place(ListedDocument($0, found: $1)) }
    case .listed(let documents): return documents.map { order.place($0) }
    case .placed(let documents): return again ? documents.map(order.placedAgain) : documents
    }
  }

  /// Builds the rows. Required before edits and lookups by reference.
  mutating func buildRowsIfNeeded() {
    if hasRows { return }
    rows = OrderedList(placed(), recordsEdits: true, in: order)
    listing = .own
    ids = nil
    hasRows = true
  }

  // MARK: Edits

  /// Returns the edits since the last call, and drops them.
  mutating func takeEdits() -> [ListEdit<PlacedDocument>] { rows.takeEdits() }

  /// Returns the elements that the list had before `edits` changed it to `elements`.
  static func undo(_ edits: [ListEdit<PlacedDocument>], in elements: [T]) -> [T] {
    ListEdit.undo(edits, in: elements, value: typed)
  }

  /// Appends an element, in order or not.
  mutating func append(_ element: T) {
    buildRowsIfNeeded()
    let placed = order.place(ListedDocument(element, at: element.documentReference))
    array = nil
    rows.append(placed, in: order)
    ids?[element.id, default: []].append(placed.reference)
    isOrdered = false
  }

  /// Removes these documents, replaces those of `documents` that are listed, and inserts the others at their
  /// positions in the order.
  @discardableResult
  mutating func update(removing references: [DocumentReference], setting documents: [ListedDocument])
    -> DocumentListChange
  {
    buildRowsIfNeeded()
    // A reference that is listed twice loses elements that the change does not name.
    if hasDuplicateReferences { ids = nil }
    let change = rows.update(removing: references, setting: documents.map { order.place($0) }, in: order)
    array = nil
    if ids != nil { updateIDs(change) }
    return change
  }

  private mutating func updateIDs(_ change: DocumentListChange) {
    for old in change.removals + change.replacements {
      ids?[old.element.element.id]?.removeAll { $0 == old.key }
    }
    for reference in change.insertions + change.replacements.map(\.key) {
      if let element = element(reference) { ids?[element.id, default: []].append(reference) }
    }
  }

  mutating func remove(_ reference: DocumentReference) { update(removing: [reference], setting: []) }

  mutating func remove(at index: Int) {
    buildRowsIfNeeded()
    remove(rows[index].reference)
  }
}
