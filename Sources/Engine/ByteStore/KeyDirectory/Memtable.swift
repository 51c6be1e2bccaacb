// The commits since the last flush, in memory as they were written.
//
// Invariants:
//   - A body counts the puts in it that are some ordinal's location; it goes with the last of them.
//   - A body's number is never used again, so that a flush can tell whether a location is still the one
//     that it has moved.

package struct Memtable: Sendable {
  private static let chunkBits: UInt64 = 8

  private struct Body {
    var commit: CommitBody
    var live: Int
  }

  private struct Chunk {
    var bodies: [Body] = []
    /// How many of the bodies are held.
    var held = 0
  }

  private var chunks: [Chunk] = []
  private var firstChunk: UInt64 = 0
  /// The number that the next body will get.
  private(set) var next: UInt64 = 0
  /// The size of all bodies that are held.
  package private(set) var bytes = 0
  private(set) var bodiesHeld = 0

  subscript(body: UInt64) -> CommitBody {
    chunks[Int(body >> Self.chunkBits - firstChunk)].bodies[Int(body & 255)].commit
  }

  /// Held by one, which whoever adds it gives back.
  mutating func append(_ commit: CommitBody) -> UInt64 {
    let number = next
    next += 1
    let chunk = Int(number >> Self.chunkBits - firstChunk)
    if chunk == chunks.count { chunks.append(Chunk()) }
    chunks[chunk].bodies.append(Body(commit: commit, live: 1))
    chunks[chunk].held += 1
    bytes += commit.bytes.count
    bodiesHeld += 1
    return number
  }

  /// Adds `count` references, one for each new location in the body.
  mutating func hold(_ body: UInt64, _ count: Int) {
    chunks[Int(body >> Self.chunkBits - firstChunk)].bodies[Int(body & 255)].live += count
  }

  mutating func release(_ body: UInt64) {
    let chunk = Int(body >> Self.chunkBits - firstChunk)
    let index = Int(body & 255)
    chunks[chunk].bodies[index].live -= 1
    guard chunks[chunk].bodies[index].live == 0 else { return }
    bytes -= chunks[chunk].bodies[index].commit.bytes.count
    bodiesHeld -= 1
    chunks[chunk].bodies[index].commit = .empty
    chunks[chunk].held -= 1
    if chunks[chunk].held == 0, chunks[chunk].bodies.count == 256 { dropEmptyChunks(chunk) }
  }

  private mutating func dropEmptyChunks(_ chunk: Int) {
    chunks[chunk].bodies = []
    guard chunk == 0 else { return }
    // A chunk that is still being filled has bodies; one that was emptied has none.
    let count = chunks.prefix { $0.bodies.isEmpty }.count
    chunks.removeFirst(count)
    firstChunk += UInt64(count)
  }

  /// The bodies held, oldest first.
  func forEachBody(_ visit: (UInt64, CommitBody) -> Void) {
    for (index, chunk) in chunks.enumerated() {
      for (offset, body) in chunk.bodies.enumerated() where body.live > 0 {
        visit((firstChunk + UInt64(index)) << Self.chunkBits + UInt64(offset), body.commit)
      }
    }
  }

  /// By number; for a comparison with what the locations say.
  var liveCounts: [UInt64: Int] {
    var counts: [UInt64: Int] = [:]
    for (index, chunk) in chunks.enumerated() {
      for (offset, body) in chunk.bodies.enumerated() where body.live > 0 {
        counts[(firstChunk + UInt64(index)) << Self.chunkBits + UInt64(offset)] = body.live
      }
    }
    return counts
  }
}
