// What transactions read and wrote, as they saw it.
//
// A document is a list to which transactions append elements, each of which is written once. So a list that was read
// tells which transactions came before the read, and in which order. Each append also says to which group the
// document belongs from then on: queries ask for ranges of groups.
//
// A document can be removed, and a new list begins with the next append: which of its lists came first, the lists do
// not tell, so that of such documents the times of the commits decide alone (ClaimedOrder).

package struct RecordedTransaction: Sendable {
  package enum Outcome: Sendable, Equatable {
    /// At a time, for those that the store told one.
    case committed(Int64?)
    case aborted
  }

  package struct ItemRead: Sendable {
    package var key: Int
    /// None if there was no document.
    package var elements: [Int]

    package init(_ key: Int, _ elements: [Int]) {
      self.key = key
      self.elements = elements
    }
  }

  package struct RangeRead: Sendable {
    package var groups: Range<Int>
    /// The lists of all documents found.
    package var found: [Int: [Int]]
    /// Documents with even keys lie in one collection, the others in another one of the same id.
    package var isOfEvenKeys = false
    /// Only lists with this element.
    package var element: Int?
    /// So many at most, by group, and by name in a group.
    package var limit: Int?
    /// The last one that was found, if there are as many as the limit.
    package var last: Place?

    package init(_ groups: Range<Int>, _ found: [Int: [Int]]) {
      self.groups = groups
      self.found = found
    }

    func asksFor(_ key: Int, _ group: Int, _ elements: [Int]) -> Bool {
      groups.contains(group) && (!isOfEvenKeys || key % 2 == 0) && (element.map(elements.contains) ?? true)
    }

    /// Whether it would have been found if it had been there.
    func finds(_ key: Int, _ group: Int, _ elements: [Int]) -> Bool {
      asksFor(key, group, elements) && (last.map { Place(key, group) <= $0 } ?? true)
    }
  }

  /// Where a document stands in the order of queries.
  package struct Place: Sendable, Comparable {
    var key: Int
    var group: Int

    package init(_ key: Int, _ group: Int) {
      self.key = key
      self.group = group
    }

    package static func < (left: Place, right: Place) -> Bool {
      (left.group, left.key % 2, left.key) < (right.group, right.key % 2, right.key)
    }
  }

  package struct Append: Sendable {
    package var key: Int
    package var element: Int
    package var group: Int
    /// The document is removed; nobody ever reads the element.
    package var isRemoval: Bool

    package init(_ key: Int, _ element: Int, group: Int = 0, isRemoval: Bool = false) {
      self.key = key
      self.element = element
      self.group = group
      self.isRemoval = isRemoval
    }
  }

  package var items: [ItemRead]
  package var ranges: [RangeRead]
  package var appends: [Append]
  package var outcome: Outcome

  package init(
    items: [ItemRead] = [], ranges: [RangeRead] = [], appends: [Append] = [],
    outcome: Outcome = .committed(nil)
  ) {
    self.items = items
    self.ranges = ranges
    self.appends = appends
    self.outcome = outcome
  }
}

extension RecordedTransaction: CustomStringConvertible {
  package var description: String {
    let parts =
      items.map { "read \($0.key): \($0.elements)" }
      + ranges.map { range in
        let found = range.found.sorted { $0.key < $1.key }.map { "\($0.key): \($0.value)" }
        let more = [
          range.isOfEvenKeys ? " with even keys" : "", range.element.map { " with \($0)" } ?? "",
          range.limit.map { ", the first \($0)" } ?? "",
        ]
        return "ask for \(range.groups)\(more.joined()): {\(found.joined(separator: ", "))}"
      }
      + appends.map { append in
        append.isRemoval
          ? "remove \(append.key)" : "append \(append.element) to \(append.key) in group \(append.group)"
      }
    return parts.joined(separator: "; ") + " → \(outcome)"
  }
}
