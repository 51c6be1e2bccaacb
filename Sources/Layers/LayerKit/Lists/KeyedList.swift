// An ordered list with lookup by key and by row in logarithmic time. All lists of the layers use it.
//
// Invariants:
// - `tree` has the elements in order. `handles` has the handle of each key's element.
// - If a key was inserted more than once, `handles` has the element that was inserted last.
//
// A copy shares the storage until one of the two lists changes. The type is inlinable so that the compiler
// specializes it for the elements of each layer.

public struct KeyedList<Key: Hashable, Element> {
  public typealias Handle = RankTree<Element>.Handle

  @usableFromInline var tree = RankTree<Element>()
  @usableFromInline var handles: [Key: Handle] = [:]

  @inlinable public init() {}

  /// Creates a list of these elements in this order, in linear time.
  @inlinable public init(_ elements: [Element], key: (Element) -> Key) {
    tree = RankTree(elements)
    handles = Dictionary(minimumCapacity: elements.count)
    for (place, element) in elements.enumerated() { handles[key(element)] = Handle(place) }
  }

  @inlinable public var count: Int { tree.count }

  @inlinable public var hasDuplicates: Bool { handles.count != tree.count }

  // MARK: Finding

  @inlinable public subscript(row: Int) -> Element { tree.element(tree.handle(at: row)) }

  @inlinable public func contains(_ key: Key) -> Bool { handles[key] != nil }

  @inlinable public func element(_ key: Key) -> Element? { handles[key].map { tree.element($0) } }

  @inlinable public func row(_ key: Key) -> Int? { handles[key].map { tree.rank(of: $0) } }

  @inlinable public func handle(_ key: Key) -> Handle? { handles[key] }

  @inlinable public func handle(atRow row: Int) -> Handle { tree.handle(at: row) }

  @inlinable public func element(_ handle: Handle) -> Element { tree.element(handle) }

  /// Returns the number of elements before the first element that satisfies `isAfter`. All elements after
  /// the first must satisfy `isAfter`, too.
  @inlinable public func partition(by isAfter: (Element) throws -> Bool) rethrows -> Int {
    try tree.partition(by: isAfter)
  }

  /// Whether the element would be in order if it replaced the element of a row.
  @inlinable public func fits(
    _ element: Element, atRow row: Int, areInOrder: (Element, Element) throws -> Bool
  ) rethrows -> Bool {
    if row > 0, try areInOrder(element, self[row - 1]) { return false }
    guard row + 1 < count else { return true }
    return try !areInOrder(self[row + 1], element)
  }

  @inlinable public func forEach(_ body: (Element) throws -> Void) rethrows { try tree.forEach(body) }

  @inlinable public func map<Result>(_ transform: (Element) throws -> Result) rethrows -> [Result] {
    var results: [Result] = []
    results.reserveCapacity(count)
    try tree.forEach { results.append(try transform($0)) }
    return results
  }

  // MARK: Changing

  /// Inserts an element. If the list already has the key, the list has duplicates from now on.
  @inlinable public mutating func insert(_ element: Element, for key: Key, atRow row: Int) {
    handles[key] = tree.insert(element, at: row)
  }

  /// Removes the element of a key. Returns the element and its former row.
  @discardableResult
  @inlinable public mutating func remove(_ key: Key) -> (row: Int, element: Element)? {
    handles.removeValue(forKey: key).map { remove($0) }
  }

  /// Removes an element by its handle. Needed for duplicates that a lookup by key cannot find.
  @discardableResult
  @inlinable public mutating func remove(_ handle: Handle) -> (row: Int, element: Element) {
    let removed = (tree.rank(of: handle), tree.element(handle))
    tree.remove(handle)
    return removed
  }

  /// Replaces the element of a key without moving it.
  @inlinable public mutating func replace(_ key: Key, with element: Element) {
    guard let handle = handles[key] else { preconditionFailure("the list lacks the key") }
    tree.replace(handle, with: element)
  }

  // MARK: Invariants

  /// Traps if the tree is damaged, if the numbers of keys and elements differ, or if elements are out of
  /// order. Takes linear time.
  public func checkInvariants(areInOrder: (Element, Element) -> Bool) {
    tree.checkInvariants()
    precondition(handles.count == count, "a key without an element")
    var last: Element?
    tree.forEach { element in
      if let last { precondition(areInOrder(last, element), "elements out of order") }
      last = element
    }
  }
}
