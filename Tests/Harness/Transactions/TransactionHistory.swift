// The recorded reads and writes of transactions.
//
// A document is a list to which transactions append elements, and each element is written only once. A list
// that was read therefore identifies the transactions that wrote it before the read, in their order. Each
// append also assigns the document to a group, and queries ask for ranges of groups.
//
// A document can be removed, and the next append then starts a new list. The lists before and after a removal
// do not determine their order. For such documents, only the commit times decide (ClaimedOrder).

package struct RecordedTransaction: Sendable {
  package enum Outcome: Sendable, Equatable {
    /// The transaction committed. The commit time is nil if the store did not report one.
    case committed(Int64?)
    case aborted
  }

  package struct ItemRead: Sendable {
    package var key: Int
    /// The elements of the list that was read; empty if the document did not exist.
    package var elements: [Int]

    package init(_ key: Int, _ elements: [Int]) {
      self.key = key
      self.elements = elements
    }
  }

  package struct RangeRead: Sendable {
    package var groups: Range<Int>
    /// The lists of all documents that the query found, by key.
    package var found: [Int: [Int]]
    /// Whether the query reads only the collection of even keys. Otherwise it also reads the collection of
    /// odd keys, which has the same id.
    package var readsEvenKeysOnly = false
    /// If not nil, the query finds only lists that contain this element.
    package var element: Int?
    /// The limit of the query. Results are ordered by group, and by name within a group.
    package var limit: Int?
    /// The place of the last document found, if the limit was reached.
    package var last: Place?

    package init(_ groups: Range<Int>, _ found: [Int: [Int]]) {
      self.groups = groups
      self.found = found
    }

    func matchesFilter(_ key: Int, _ group: Int, _ elements: [Int]) -> Bool {
      groups.contains(group) && (!readsEvenKeysOnly || key % 2 == 0)
        && (element.map(elements.contains) ?? true)
    }

    /// Returns whether the query would find a document with this key, group and list.
    func finds(_ key: Int, _ group: Int, _ elements: [Int]) -> Bool {
      matchesFilter(key, group, elements) && (last.map { Place(key, group) <= $0 } ?? true)
    }
  }

  /// The position of a document in the order of queries.
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
    /// Whether the write removes the document. If so, `element` is never read.
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
          range.readsEvenKeysOnly ? " with even keys" : "", range.element.map { " with \($0)" } ?? "",
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
