// A queue of blocks, first in, first out.

/// Blocks in order. Each is released when it is taken.
struct BlockLine {
  private var blocks: [(@Sendable () -> Void)?] = []
  private var start = 0

  var isEmpty: Bool { start == blocks.count }
  var count: Int { blocks.count - start }

  mutating func add(_ block: @escaping @Sendable () -> Void) { blocks.append(block) }

  mutating func takeFirst() -> (@Sendable () -> Void)? {
    guard start < blocks.count else { return nil }
    let block = blocks[start]
    blocks[start] = nil
    start += 1
    if start == blocks.count {
      blocks.removeAll(keepingCapacity: true)
      start = 0
    } else if start > 64, start > blocks.count / 2 {
      blocks.removeFirst(start)
      start = 0
    }
    return block
  }
}
