// An ascending list of batch ids. New ids are appended, and most removals happen at the front.

struct BatchList: Sendable {
  private var items: [BatchID] = []
  /// All ids before this index have been removed.
  private var start = 0

  var count: Int { items.count - start }
  var isEmpty: Bool { count == 0 }
  var first: BatchID? { isEmpty ? nil : items[start] }
  var last: BatchID? { isEmpty ? nil : items.last }
  var all: ArraySlice<BatchID> { items[start...] }

  func contains(_ id: BatchID) -> Bool {
    let place = place(of: id)
    return place < items.count && items[place] == id
  }

  mutating func append(_ id: BatchID) {
    precondition(last.map { $0 < id } ?? true, "the numbers of batches increase")
    items.append(id)
  }

  /// Returns false if the id is not in the list.
  @discardableResult
  mutating func remove(_ id: BatchID) -> Bool {
    guard contains(id) else { return false }
    let place = place(of: id)
    if place > start {
      items.remove(at: place)
      return true
    }
    start += 1
    if start > 64, start > items.count / 2 {
      items.removeFirst(start)
      start = 0
    }
    return true
  }

  /// Returns the ids before the given id, and the ids from the given id onward.
  func split(at id: BatchID) -> (before: ArraySlice<BatchID>, rest: ArraySlice<BatchID>) {
    let place = place(of: id)
    return (items[start..<place], items[place...])
  }

  func next(after id: BatchID) -> BatchID? {
    let place = place(of: id)
    let next = place < items.count && items[place] == id ? place + 1 : place
    return next < items.count ? items[next] : nil
  }

  func previous(before id: BatchID) -> BatchID? {
    let place = place(of: id)
    return place > start ? items[place - 1] : nil
  }

  /// Returns the first index whose id is not less than the given one.
  private func place(of id: BatchID) -> Int {
    var low = start
    var high = items.count
    while low < high {
      let middle = (low + high) / 2
      if items[middle] < id { low = middle + 1 } else { high = middle }
    }
    return low
  }
}
