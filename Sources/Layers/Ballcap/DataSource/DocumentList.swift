// The documents of a data source. The list is a plain array until its first edit. Then it becomes a tree, in
// which edits take logarithmic time, and the array is created again only on demand.
//
// Invariants:
// - The list has an array or a tree, or both with the same content.
// - Only elements that the user has set or inserted may have a reference twice. The last element with the
//   reference then counts, and an edit of the reference leaves only one element (DocumentList+Duplicates).
// - If `isOrdered`, each element is at the position that the order gave it.
// - `ids` is nil or contains the ids of all elements. The first lookup that finds no equal reference sets
//   `ids`.
//
// A copy shares the storage until one of the two lists is edited. The edit copies the whole storage.

import FirebaseFirestore
import LayerKit

struct DocumentList<T: Object & DataRepresentable> {
  typealias Rows = KeyedList<DocumentReference, PlacedDocument>

  /// The source of the documents of the array's elements. Used only while the list has no tree.
  private enum Listing {
    case own
    /// The snapshots that the elements were created from.
    case found([QueryDocumentSnapshot])
    case listed([ListedDocument])
    case placed([PlacedDocument])
  }

  private(set) var order: DocumentOrder<T>
  private var array: [T]?
  private var listing = Listing.own
  private(set) var rows = Rows()
  private var ids: [String: [DocumentReference]]?
  private var hasTree = false
  private(set) var isOrdered: Bool
  /// The edits since `takeEdits`, in order.
  private var edits: [Edit] = []

  /// The row of an edit, and the element that was in the row before.
  enum Edit {
    case inserted(Int)
    case removed(Int, T)
    case replaced(Int, T)
  }

  init(_ elements: [T] = [], _ order: DocumentOrder<T>) {
    array = elements
    self.order = order
    isOrdered = elements.isEmpty
  }

  var count: Int { array?.count ?? rows.count }

  // MARK: Looking

  private func typed(_ placed: PlacedDocument) -> T { placed.element as! T }

  subscript(index: Int) -> T { array?[index] ?? typed(rows[index]) }

  /// Creates the array, unless it is kept.
  var elements: [T] { array ?? rows.map(typed) }

  /// Returns the elements and keeps the array until the next edit.
  mutating func cacheElements() -> [T] {
    let elements = elements
    array = elements
    return elements
  }

  func contains(_ reference: DocumentReference) -> Bool { rows.contains(reference) }

  /// Needs the tree.
  func index(of reference: DocumentReference) -> Int? { rows.row(reference) }

  func element(_ reference: DocumentReference) -> T? { rows.element(reference).map(typed) }

  /// Returns the reference of the first element with the same id. It may belong to another document.
  mutating func reference(of element: T) -> DocumentReference? {
    buildTreeIfNeeded()
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
    buildTreeIfNeeded()
    rows.forEach { known[ObjectIdentifier($0.element)] = $0.document }
    self = DocumentList(elements, order)
    listing = .listed(
      elements.map { known[ObjectIdentifier($0)] ?? ListedDocument($0, at: $0.documentReference) })
  }

  /// Fills the empty list with the first documents of the query, which arrive in the order of the query. Does
  /// not build the tree.
  mutating func fill(_ elements: [T], _ found: [QueryDocumentSnapshot]) {
    precondition(count == 0, "only an empty list is filled")
    self = DocumentList(elements, order)
    listing = .found(found)
    isOrdered = true
    if case .query = order { return }
    let sorted = sorted(placed()).map { $0.document }
    array = sorted.map { $0.element as! T }
    listing = .placed(sorted)
  }

  mutating func setOrder(_ order: DocumentOrder<T>) {
    self.order = order
    sort()
  }

  /// Sorts the list. If the order throws, no element moves. Moves as few elements as possible, and returns
  /// the elements that moved.
  @discardableResult
  mutating func sort() -> [DocumentReference] {
    let sorted = sorted(placed().map { order.place($0.document) })
    build(sorted.map { $0.document })
    array = nil
    isOrdered = true
    let kept = Set(LongestRise.places(in: sorted.map { $0.place }))
    return sorted.indices.filter { !kept.contains($0) }.map { sorted[$0].document.reference }
  }

  private func sorted(_ placed: [PlacedDocument]) -> [(place: Int, document: PlacedDocument)] {
    let entries = placed.enumerated().map { (place: $0.offset, document: $0.element) }
    return (try? entries.sorted { try order.areInOrder($0.document, $1.document) }) ?? entries
  }

  /// Returns all elements in their present order.
  private func placed() -> [PlacedDocument] {
    if hasTree { return rows.map { $0 } }
    let elements = array ?? []
    switch listing {
    case .own: return elements.map { order.place(ListedDocument($0, at: $0.documentReference)) }
    case .found(let found): return zip(elements, found).map { order.place(ListedDocument($0, found: $1)) }
    case .listed(let documents): return documents.map { order.place($0) }
    case .placed(let documents): return documents
    }
  }

  /// Builds the tree. Required before edits and lookups by reference.
  mutating func buildTreeIfNeeded() {
    if !hasTree { build(placed()) }
  }

  private mutating func build(_ placed: [PlacedDocument]) {
    rows = Rows(placed) { $0.reference }
    listing = .own
    ids = nil
    hasTree = true
  }

  // MARK: One at a time

  /// Returns the edits, and drops them.
  mutating func takeEdits() -> [Edit] {
    defer { edits = [] }
    return edits
  }

  /// Returns the content that the list had before `edits` changed it to `elements`.
  static func undo(_ edits: [Edit], in elements: [T]) -> [T] {
    var elements = elements
    for edit in edits.reversed() {
      switch edit {
      case .inserted(let index): elements.remove(at: index)
      case .removed(let index, let element): elements.insert(element, at: index)
      case .replaced(let index, let element): elements[index] = element
      }
    }
    return elements
  }

  /// Appends an element, in order or not.
  mutating func append(_ element: T) {
    buildTreeIfNeeded()
    attach(order.place(ListedDocument(element, at: element.documentReference)), at: rows.count)
    isOrdered = false
  }

  /// Inserts a document at its position in the order. Returns the elements that moved because they had
  /// changed since they were placed.
  mutating func insert(_ document: ListedDocument) -> [DocumentReference] {
    buildTreeIfNeeded()
    var moved: [DocumentReference] = []
    insert(order.place(document), &moved)
    return moved
  }

  private mutating func insert(_ entry: PlacedDocument, _ moved: inout [DocumentReference]) {
    while true {
      let (rank, stale) = search(entry)
      // Each element moves only once. Otherwise an element that does not equal itself would be stale forever.
      let unmoved = stale.filter { !moved.contains($0) }
      if unmoved.isEmpty {
        attach(entry, at: rank)
        edits.append(.inserted(rank))
        return
      }
      moved += unmoved
      for reference in unmoved {
        guard let document = detach(reference) else { continue }
        insert(order.place(document), &moved)
      }
    }
  }

  /// Returns the row at which the entry belongs, and the stale elements that the search met.
  private func search(_ entry: PlacedDocument) -> (rank: Int, stale: [DocumentReference]) {
    var stale: [DocumentReference] = []
    let rank = try? rows.partition { other in
      if order.isStale(other) { stale.append(other.reference) }
      return try order.areInOrder(entry, other)
    }
    // If the order threw an error, no element counts as stale.
    return (rank ?? rows.count, rank == nil ? [] : stale)
  }

  private mutating func attach(_ entry: PlacedDocument, at rank: Int) {
    array = nil
    rows.insert(entry, for: entry.reference, atRow: rank)
    ids?[entry.element.id, default: []].append(entry.reference)
  }

  private mutating func detach(_ reference: DocumentReference) -> ListedDocument? {
    for duplicate in duplicates(of: reference) { note(removal: rows.remove(duplicate)) }
    guard let removal = rows.remove(reference) else { return nil }
    note(removal: removal)
    return removal.element.document
  }

  private mutating func note(removal: (row: Int, element: PlacedDocument)) {
    let placed = removal.element
    array = nil
    edits.append(.removed(removal.row, typed(placed)))
    ids?[placed.element.id]?.removeAll { $0 == placed.reference }
  }

  mutating func remove(_ reference: DocumentReference) {
    buildTreeIfNeeded()
    _ = detach(reference)
  }

  mutating func remove(at index: Int) {
    buildTreeIfNeeded()
    remove(rows[index].reference)
  }

  /// Replaces the document in its row if the document still fits there. Otherwise moves it.
  mutating func replace(with document: ListedDocument) -> [DocumentReference] {
    buildTreeIfNeeded()
    guard let rank = rows.row(document.reference) else { return [] }
    let entry = order.place(document)
    let old = typed(rows[rank])
    guard !hasDuplicateReferences, fitsInRow(entry, at: rank) else {
      remove(document.reference)
      return insert(document)
    }
    array = nil
    edits.append(.replaced(rank, old))
    rows.replace(document.reference, with: entry)
    if old.id != document.element.id { ids = nil }
    return []
  }

  /// Whether an entry fits between its neighbours. If the order throws, the entry counts as fitting.
  private func fitsInRow(_ entry: PlacedDocument, at rank: Int) -> Bool {
    (try? rows.fits(entry, atRow: rank, areInOrder: order.areInOrder)) ?? true
  }
}
