// A data source as a collection of its documents.

import FirebaseFirestore

extension DataSource: RandomAccessCollection {
  public var startIndex: Int { 0 }
  public var endIndex: Int { count }
  public func index(before i: Int) -> Int { i - 1 }
  public func index(after i: Int) -> Int { i + 1 }

  public subscript(index: Int) -> Element { list[index] }

  /// The first element; nil if there is none.
  public var first: Element? { count == 0 ? nil : list[0] }
  /// The last element; nil if there is none.
  public var last: Element? { count == 0 ? nil : list[count - 1] }

  /// Returns the index of the first element for which the predicate is true; nil if there is none.
  public func index(where predicate: (Element) throws -> Bool) rethrows -> Int? {
    try documents.firstIndex(where: predicate)
  }

  /// Returns the index of the element with the same id; nil if there is none.
  public func firstIndex(of element: Element) -> Int? {
    list.reference(of: element).flatMap(list.index)
  }

  /// Calls the body with each element, in order.
  public func forEach(_ body: (Element) throws -> Void) rethrows { try documents.forEach(body) }

  // MARK: Changes without a report

  /// Appends the element unless an equal element is listed. Does not call `onChanged`.
  public func insert(_ newMember: Element) {
    guard !documents.contains(newMember) else { return }
    list.append(newMember)
  }

  /// Removes the element that equals `member`. Does not call `onChanged`.
  public func remove(_ member: Element) {
    guard let index = documents.firstIndex(where: { $0 == member }) else { return }
    list.remove(at: index)
  }
}
