// What transactions read and wrote, as they saw it.
//
// A document is a list to which transactions append elements, each of which is written once. So a list that was read
// tells which transactions came before the read, and in which order. Each append also says to which group the
// document belongs from then on: queries ask for ranges of groups.

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

    package init(_ groups: Range<Int>, _ found: [Int: [Int]]) {
      self.groups = groups
      self.found = found
    }
  }

  package struct Append: Sendable {
    package var key: Int
    package var element: Int
    package var group: Int

    package init(_ key: Int, _ element: Int, group: Int = 0) {
      self.key = key
      self.element = element
      self.group = group
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
        return "ask for \(range.groups): {\(found.joined(separator: ", "))}"
      } + appends.map { "append \($0.element) to \($0.key) in group \($0.group)" }
    return parts.joined(separator: "; ") + " → \(outcome)"
  }
}
