// The documents of a data source: a plain array until it is edited, and then a tree in which edits take logarithmic
// time, with an array again when somebody asks for all of it.
//
// Invariants:
//   - There is an array or a tree, or both with the same content.
//   - Each reference is there once; `handles` has the tree's place of each.
//   - If `isOrdered`, each element has the place that the order gave it.

import FirebaseCore
import FirebaseFirestore

struct DocumentList<T: Object & DataRepresentable> {
  typealias Placed = PlacedDocument<T>
  typealias Handle = RankTree<Placed>.Handle

  private(set) var order: DocumentOrder<T>
  private var array: [T]?
  private var references: [DocumentReference]?
  private var tree = RankTree<Placed>()
  private var handles: [DocumentReference: Handle] = [:]
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

  /// An element that stands for another document has the id in common.
  func reference(of element: T) -> DocumentReference? {
    if contains(element.documentReference) { return element.documentReference }
    var found: DocumentReference?
    tree.forEach { if found == nil, $0.element.id == element.id { found = $0.reference } }
    return found
  }

  // MARK: All at once

  /// The first documents, which the query has in order. No tree is needed for them.
  mutating func fill(_ elements: [(reference: DocumentReference, element: T)]) {
    precondition(count == 0, "only an empty list is filled")
    array = elements.map(\.element)
    references = elements.map(\.reference)
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

  /// By the order; if that throws, everything stays where it is.
  mutating func sort() {
    needTree()
    var placed: [Placed] = []
    tree.forEach { placed.append(place($0.reference, $0.element)) }
    if let sorted = try? placed.sorted(by: order.areInOrder) { placed = sorted }
    build(placed)
    isOrdered = true
  }

  /// Has to be called before a list is looked into by references, or edited.
  mutating func needTree() {
    guard !hasTree else { return }
    let elements = array ?? []
    let references: [DocumentReference] = references ?? elements.map { $0.documentReference }
    build(zip(references, elements).map(place))
    self.references = nil
  }

  private mutating func build(_ placed: [Placed]) {
    tree = RankTree()
    handles = [:]
    for entry in placed {
      // Of two elements of one document, the array of a user may have both.
      handles[entry.reference] = tree.insert(entry, at: tree.count)
    }
    hasTree = true
    array = nil
  }

  private func place(_ reference: DocumentReference, _ element: T) -> Placed {
    Placed(reference: reference, element: element, note: order.note(element))
  }

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
    let entry = place(element.documentReference, element)
    handles[entry.reference] = tree.insert(entry, at: tree.count)
    isOrdered = false
    array = nil
  }

  /// At the place that the order gives it. Returns the elements that were placed anew on the way, because they have
  /// changed since.
  mutating func insert(_ element: T, as reference: DocumentReference) -> [DocumentReference] {
    needTree()
    array = nil
    var moved: [DocumentReference] = []
    insert(place(reference, element), &moved)
    return moved
  }

  private mutating func insert(_ entry: Placed, _ moved: inout [DocumentReference]) {
    while true {
      let (rank, stale) = search(entry)
      // Each once: what equals not even itself would be stale for ever.
      let unmoved = stale.filter { !moved.contains($0) }
      if unmoved.isEmpty {
        handles[entry.reference] = tree.insert(entry, at: rank)
        edits.append(.inserted(rank))
        return
      }
      moved += unmoved
      for reference in unmoved {
        guard let element = remove(reference) else { continue }
        insert(place(reference, element), &moved)
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

  @discardableResult
  mutating func remove(_ reference: DocumentReference) -> T? {
    needTree()
    guard let handle = handles.removeValue(forKey: reference) else { return nil }
    array = nil
    let element = tree.element(handle).element
    edits.append(.removed(tree.rank(of: handle), element))
    tree.remove(handle)
    return element
  }

  mutating func remove(at index: Int) {
    needTree()
    remove(tree.element(tree.handle(at: index)).reference)
  }

  /// In its place if that is still right, else where it belongs now.
  mutating func replace(_ reference: DocumentReference, with element: T) -> [DocumentReference] {
    needTree()
    guard let handle = handles[reference] else { return [] }
    array = nil
    let entry = place(reference, element)
    let rank = tree.rank(of: handle)
    if stays(entry, at: rank) {
      edits.append(.replaced(rank, tree.element(handle).element))
      tree.replace(handle, with: entry)
      return []
    }
    remove(reference)
    return insert(element, as: reference)
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
