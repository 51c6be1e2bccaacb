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
  private(set) var shortCount = 0
  private(set) var longCount = 0

  var isEmpty: Bool { shortCount == 0 && longCount == 0 }

  mutating func add(_ block: @escaping @Sendable () -> Void, of owner: UInt64, isLong: Bool) {
    if isLong {
      longCount += 1
      long.add(block, of: owner)
    } else {
      shortCount += 1
      short.add(block, of: owner)
    }
  }

  /// Takes the next block, and says whether it is long. Without `takesLong`, only short blocks are taken.
  mutating func takeFirst(takesLong: Bool = true) -> (block: @Sendable () -> Void, isLong: Bool)? {
    shortRun += 1
    if shortRun <= Self.shortRunMax || !takesLong, let block = takeShort() { return (block, false) }
    guard takesLong else { return nil }
    shortRun = 0
    if let block = long.takeFirst() {
      longCount -= 1
      return (block, true)
    }
    return takeShort().map { ($0, false) }
  }

  private mutating func takeShort() -> (@Sendable () -> Void)? {
    guard let block = short.takeFirst() else { return nil }
    shortCount -= 1
    return block
  }
}
