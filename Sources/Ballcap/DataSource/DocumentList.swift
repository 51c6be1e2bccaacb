// The documents of a data source: a plain array until it is edited, and then a tree in which edits take logarithmic
// time, with an array again when somebody asks for all of it.
//
// Invariants:
//   - There is an array or a tree, or both with the same content.
//   - Each reference is there once; `handles` has the tree's place of each.
//   - If `isOrdered`, each element has the place that the order gave it.
//   - `ids` is nil until somebody looks for an id that no reference has, and then has all of them.

import FirebaseCore
import FirebaseFirestore

struct DocumentList<T: Object & DataRepresentable> {
  typealias Listed = ListedDocument<T>
  typealias Placed = PlacedDocument<T>
  typealias Handle = RankTree<Placed>.Handle

  private(set) var order: DocumentOrder<T>
  private var array: [T]?
  /// Of the array, as long as there is no tree.
  private var listed: [Listed]?
  private var tree = RankTree<Placed>()
  private var handles: [DocumentReference: Handle] = [:]
  private var ids: [String: [DocumentReference]]?
  private var hasTree = false
  private(set) var isOrdered: Bool
  /// What was done since it was last taken, one edit at a time.
  private var edits: [Edit] = []

  /// Where, and what was there before.
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

  var count: Int { array?.count ?? tree.count }

  // MARK: Looking

  subscript(index: Int) -> T { array?[index] ?? tree.element(tree.handle(at: index)).element }

  /// Made anew unless it is kept.
  var elements: [T] {
    if let array { return array }
    var elements: [T] = []
    elements.reserveCapacity(tree.count)
    tree.forEach { elements.append($0.element) }
    return elements
  }

  /// The same, and kept until the next edit.
  mutating func keptElements() -> [T] {
    let elements = elements
    array = elements
    return elements
  }

  func contains(_ reference: DocumentReference) -> Bool { handles[reference] != nil }

  /// Only with a tree.
  func index(of reference: DocumentReference) -> Int? { handles[reference].map(tree.rank) }

  func element(_ reference: DocumentReference) -> T? { handles[reference].map { tree.element($0).element } }

  /// Of the first element with the same id, which may be another document's.
  mutating func reference(of element: T) -> DocumentReference? {
    needTree()
    if contains(element.documentReference) { return element.documentReference }
    let ids = ids ?? allIDs()
    self.ids = ids
    guard let same = ids[element.id], same.count > 1 else { return ids[element.id]?.first }
    return same.min { (index(of: $0) ?? .max) < (index(of: $1) ?? .max) }
  }

  private func allIDs() -> [String: [DocumentReference]] {
    var ids: [String: [DocumentReference]] = [:]
    tree.forEach { ids[$0.element.id, default: []].append($0.reference) }
    return ids
  }

  // MARK: All at once

  /// Others, in this order. Those that are here already still stand for what they stood for.
  mutating func set(_ elements: [T]) {
    var known: [ObjectIdentifier: Listed] = [:]
    if hasTree {
      tree.forEach { known[ObjectIdentifier($0.element)] = $0.document }
    } else {
      for document in listed ?? [] { known[ObjectIdentifier(document.element)] = document }
    }
    self = DocumentList(elements, order)
    listed = elements.map { known[ObjectIdentifier($0)] ?? Listed($0, at: $0.documentReference) }
  }

  /// The first documents, which the query has in order. No tree is needed for them.
  mutating func fill(_ documents: [Listed]) {
    precondition(count == 0, "only an empty list is filled")
    array = documents.map(\.element)
    listed = documents
    ids = nil
    hasTree = false
    isOrdered = true
    if case .query = order { return }
    sort()
  }

  mutating func setOrder(_ order: DocumentOrder<T>) {
    needTree()
    self.order = order
    sort()
  }

  /// By the order; if that throws, everything stays where it is. Returns who had to move: the others were in order
  /// already.
  @discardableResult
  mutating func sort() -> [DocumentReference] {
    needTree()
    var placed: [(place: Int, document: Placed)] = []
    tree.forEach { placed.append((placed.count, place($0.document))) }
    if let sorted = try? placed.sorted(by: { try order.areInOrder($0.document, $1.document) }) {
      placed = sorted
    }
    build(placed.map(\.document))
    isOrdered = true
    let kept = Set(LongestRise.places(in: placed.map(\.place)))
    return placed.indices.filter { !kept.contains($0) }.map { placed[$0].document.reference }
  }

  /// Has to be called before a list is looked into by references, or edited.
  mutating func needTree() {
    guard !hasTree else { return }
    let documents = listed ?? (array ?? []).map { Listed($0, at: $0.documentReference) }
    build(documents.map(place))
    listed = nil
  }

  private mutating func build(_ placed: [Placed]) {
    tree = RankTree()
    handles = [:]
    ids = nil
    for entry in placed {
      // Of two elements of one document, the array of a user may have both.
      handles[entry.reference] = tree.insert(entry, at: tree.count)
    }
    // What was an array and has not moved still is one.
    if hasTree { array = nil }
    hasTree = true
  }

  private func place(_ document: Listed) -> Placed { Placed(document: document, note: order.note(document)) }

  // MARK: One at a time

  /// Forgets the edits, and returns them.
  mutating func takeEdits() -> [Edit] {
    defer { edits = [] }
    return edits
  }

  /// The content that `edits` led to `elements` from.
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

  /// Behind all others, in order or not.
  mutating func append(_ element: T) {
    needTree()
    attach(place(Listed(element, at: element.documentReference)), at: tree.count)
    isOrdered = false
  }

  /// At the place that the order gives it. Returns the elements that were placed anew on the way, because they have
  /// changed since.
  mutating func insert(_ document: Listed) -> [DocumentReference] {
    needTree()
    var moved: [DocumentReference] = []
    insert(place(document), &moved)
    return moved
  }

  private mutating func insert(_ entry: Placed, _ moved: inout [DocumentReference]) {
    while true {
      let (rank, stale) = search(entry)
      // Each once: what equals not even itself would be stale for ever.
      let unmoved = stale.filter { !moved.contains($0) }
      if unmoved.isEmpty {
        attach(entry, at: rank)
        edits.append(.inserted(rank))
        return
      }
      moved += unmoved
      for reference in unmoved {
        guard let document = detach(reference) else { continue }
        insert(place(document), &moved)
      }
    }
  }

  /// Where the entry belongs, and whom the search met that has changed since it was placed.
  private func search(_ entry: Placed) -> (rank: Int, stale: [DocumentReference]) {
    var stale: [DocumentReference] = []
    let rank = try? tree.partition { other in
      if other.isStale { stale.append(other.reference) }
      return try order.areInOrder(entry, other)
    }
    // An order that throws has nothing to say.
    return (rank ?? tree.count, rank == nil ? [] : stale)
  }

  private mutating func attach(_ entry: Placed, at rank: Int) {
    array = nil
    handles[entry.reference] = tree.insert(entry, at: rank)
    ids?[entry.element.id, default: []].append(entry.reference)
  }

  private mutating func detach(_ reference: DocumentReference) -> Listed? {
    guard let handle = handles.removeValue(forKey: reference) else { return nil }
    array = nil
    let document = tree.element(handle).document
    edits.append(.removed(tree.rank(of: handle), document.element))
    tree.remove(handle)
    ids?[document.element.id]?.removeAll { $0 == reference }
    return document
  }

  @discardableResult
  mutating func remove(_ reference: DocumentReference) -> T? {
    needTree()
    return detach(reference)?.element
  }

  mutating func remove(at index: Int) {
    needTree()
    remove(tree.element(tree.handle(at: index)).reference)
  }

  /// In its place if that is still right, else where it belongs now.
  mutating func replace(with document: Listed) -> [DocumentReference] {
    needTree()
    guard let handle = handles[document.reference] else { return [] }
    let entry = place(document)
    let rank = tree.rank(of: handle)
    let old = tree.element(handle).element
    guard stays(entry, at: rank) else {
      remove(document.reference)
      return insert(document)
    }
    array = nil
    edits.append(.replaced(rank, old))
    tree.replace(handle, with: entry)
    if old.id != document.element.id { ids = nil }
    return []
  }

  /// Whether an entry fits between its neighbours. An order that throws leaves everything where it is.
  private func stays(_ entry: Placed, at rank: Int) -> Bool {
    do {
      if rank > 0, try order.areInOrder(entry, tree.element(tree.handle(at: rank - 1))) { return false }
      if rank + 1 < tree.count, try order.areInOrder(tree.element(tree.handle(at: rank + 1)), entry) {
        return false
      }
      return true
    } catch {
      return true
    }
  }
}
