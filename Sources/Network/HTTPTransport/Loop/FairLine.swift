// The order of a pool's blocks: owners take turns, and short work comes before long work.

/// Blocks of many owners. An owner with thousands of blocks delays another one by one block at a time.
struct FairLine {
  /// The blocks of owners that take turns.
  private struct Turns {
    private var lines: [UInt64: BlockLine] = [:]
    private var owners: [UInt64] = []
    private var start = 0

    mutating func add(_ block: @escaping @Sendable () -> Void, of owner: UInt64) {
      if lines[owner] == nil { owners.append(owner) }
      lines[owner, default: BlockLine()].add(block)
    }

    mutating func takeFirst() -> (@Sendable () -> Void)? {
      guard start < owners.count else { return nil }
      let owner = owners[start]
      start += 1
      if start > 64, start > owners.count / 2 {
        owners.removeFirst(start)
        start = 0
      }
      let block = lines[owner]?.takeFirst()
      if lines[owner]?.isEmpty == false { owners.append(owner) } else { lines[owner] = nil }
      return block
    }
  }

  /// After this number of short blocks in a row comes a long one, so that long work ends, too.
  private static let shortRunMax = 8

  private var short = Turns()
  private var long = Turns()
  private var shortRun = 0
  private(set) var count = 0

  var isEmpty: Bool { count == 0 }

  mutating func add(_ block: @escaping @Sendable () -> Void, of owner: UInt64, isLong: Bool) {
    count += 1
    if isLong { long.add(block, of: owner) } else { short.add(block, of: owner) }
  }

  mutating func takeFirst() -> (@Sendable () -> Void)? {
    guard count > 0 else { return nil }
    count -= 1
    shortRun += 1
    if shortRun <= Self.shortRunMax, let block = short.takeFirst() { return block }
    shortRun = 0
    return long.takeFirst() ?? short.takeFirst()
  }
}
