// The commits since the last flush, held in memory in the encoded form in which they were logged.
//
// Invariants:
//   - A body counts those of its puts that are the current location of an ordinal. The body is freed when the
//     last of these puts is released.
//   - A body's number is never used again. A flush can therefore detect whether a location has changed since
//     the flush copied the entry.

package struct Memtable: Sendable {
  private static let chunkBits: UInt64 = 8

  private struct Body {
    var commit: CommitBody
    var live: Int
  }

  private struct Chunk {
    var bodies: [Body] = []
    /// The number of bodies in this chunk that are still referenced.
    var held = 0
  }

  private var chunks: [Chunk] = []
  private var firstChunk: UInt64 = 0
  /// The number that the next body will get.
  private(set) var next: UInt64 = 0
  /// The total size of all referenced bodies.
  package private(set) var bytes = 0
  private(set) var bodiesHeld = 0
  /// The memory that a body takes in addition to its bytes.
  private static let bytesPerBody = 64

  /// The memory of all referenced bodies.
  package var memoryBytes: Int { bytes + bodiesHeld * Self.bytesPerBody }

  subscript(body: UInt64) -> CommitBody {
    chunks[Int(body >> Self.chunkBits - firstChunk)].bodies[Int(body & 255)].commit
  }

  /// Adds a commit body and returns its number. The body starts with one reference, which the caller must
  /// release.
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
    // A chunk that is still being filled has bodies. A chunk whose bodies were all freed has an empty array.
    let count = chunks.prefix { $0.bodies.isEmpty }.count
    chunks.removeFirst(count)
    firstChunk += UInt64(count)
  }

  /// Passes the referenced bodies to `visit`, oldest first.
  func forEachBody(_ visit: (UInt64, CommitBody) -> Void) {
    for (index, chunk) in chunks.enumerated() {
      for (offset, body) in chunk.bodies.enumerated() where body.live > 0 {
        visit((firstChunk + UInt64(index)) << Self.chunkBits + UInt64(offset), body.commit)
      }
    }
  }

  /// The reference counts by body number, for a comparison with the counts that follow from the locations.
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
