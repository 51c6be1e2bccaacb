// A heap whose entries are removed when they come to its head.

/// A binary heap. An entry that is no longer of use stays until it is the first one, or until those entries
/// are the majority.
struct LazyHeap<Element: Comparable & Sendable>: Sendable {
  private var elements: [Element] = []
  /// The number of entries at which those of no use are removed.
  private var sweepCount = 32

  /// Removes the entries of no use at the head, and returns the first other one.
  mutating func first(where isOfUse: (Element) -> Bool) -> Element? {
    while let first = elements.first {
      if isOfUse(first) { return first }
      removeFirst()
    }
    return nil
  }

  mutating func insert(_ element: Element, where isOfUse: (Element) -> Bool) {
    if elements.count >= sweepCount {
      elements = elements.filter(isOfUse).sorted()
      sweepCount = max(32, 2 * elements.count)
    }
    elements.append(element)
    var place = elements.count - 1
    while place > 0, elements[place] < elements[(place - 1) / 2] {
      elements.swapAt(place, (place - 1) / 2)
      place = (place - 1) / 2
    }
  }

  mutating func removeFirst() {
    guard let last = elements.popLast(), !elements.isEmpty else { return }
    elements[0] = last
    var place = 0
    while true {
      var least = place
      for child in [2 * place + 1, 2 * place + 2] where child < elements.count {
        if elements[child] < elements[least] { least = child }
      }
      guard least != place else { return }
      elements.swapAt(place, least)
      place = least
    }
  }
}
