// A shard of the page cache. Each shard has its own lock.
//
// A frame is memory for one page. Frames are allocated in slabs, on demand and within the budget. When the
// budget shrinks, whole slabs are freed with all their frames.
//
// Invariants: a frame either holds a page and has one slot in the table, or it is in the list of free frames.
// The number of frames equals the number of pages that the slabs hold, and it never exceeds the budget.
//
// Pages are evicted by the clock algorithm (second chance). The hand visits the frames in turn. It spares
// each frame that was referenced since its last visit and clears that mark. The first frame without the mark
// is evicted.

import Libc

struct PageCacheShard {
  /// The size of a slab in bytes.
  private static let slabBytes = 256 << 10

  @safe private struct Frame {
    var id = PageCache.PageID(file: 0, page: 0)
    var isUsed = false
    var wasReferenced = false
    /// The address of this frame in a slab. The slab outlives its frames.
    let memory: UnsafeMutableRawPointer
  }

  private let pageBytes: Int
  private var framesMax = 0
  private var slabs: [PageMemory] = []
  private var frames: [Frame] = []
  private var freeFrames: [Int] = []
  /// The hash table of the used frames. The ordinal in a slot is the index of a frame.
  private var table = SlotTable()
  private var hand = 0
  /// Memory for the next page load; nil during a load.
  private var spareMemory: PageMemory?
  private(set) var hits: UInt64 = 0
  private(set) var misses: UInt64 = 0

  init(pageBytes: Int) { self.pageBytes = pageBytes }

  var frameCount: Int { frames.count }
  var pageCount: Int { frames.count - freeFrames.count }

  // MARK: Lookup

  /// Finds the frame of a page and marks it as referenced. Returns nil and counts a miss if the page is not
  /// cached.
  mutating func find(_ id: PageCache.PageID, _ hash: PageHash) -> Int? {
    guard let slot = slot(of: id, hash) else {
      misses += 1
      return nil
    }
    let frame = Int(table.slots[slot].ordinal)
    // The mark is written only if it changes, so that processors that read the same pages can share the cache
    // line.
    if !frames[frame].wasReferenced { frames[frame].wasReferenced = true }
    hits += 1
    return frame
  }

  @_lifetime(borrow self)
  func bytes(of frame: Int) -> RawSpan {
    let view = unsafe RawSpan(_unsafeStart: frames[frame].memory, byteCount: pageBytes)
    return unsafe _overrideLifetime(view, borrowing: self)
  }

  private func slot(of id: PageCache.PageID, _ hash: PageHash) -> Int? {
    guard !table.slots.isEmpty else { return nil }
    let mask = table.slots.count - 1
    var index = Int(hash.fingerprint) & mask
    while !table.slots[index].isEmpty {
      let slot = table.slots[index]
      if slot.fingerprint == hash.fingerprint, frames[Int(slot.ordinal)].id == id { return index }
      index = (index + 1) & mask
    }
    return nil
  }

  // MARK: Insertion

  mutating func takeSpareMemory() -> PageMemory? {
    defer { spareMemory = nil }
    return spareMemory
  }

  /// Copies a page into a frame, unless another thread has already added the page or no frame is available.
  /// The memory of `page` is kept for the next load.
  mutating func keep(_ page: PageMemory, as id: PageCache.PageID, hash: PageHash) {
    spareMemory = page
    guard slot(of: id, hash) == nil, let frame = emptyFrame() else { return }
    unsafe frames[frame].memory.copyMemory(from: page.start, byteCount: pageBytes)
    frames[frame].id = id
    frames[frame].isUsed = true
    frames[frame].wasReferenced = false
    table.insert(Slot(hash.fingerprint, UInt32(frame)))
  }

  private mutating func emptyFrame() -> Int? {
    if freeFrames.isEmpty, frames.count < framesMax { addSlab() }
    if freeFrames.isEmpty, !frames.isEmpty { evict() }
    return freeFrames.popLast()
  }

  private mutating func addSlab() {
    let count = min(max(1, Self.slabBytes / pageBytes), framesMax - frames.count)
    // If the allocation fails, the cache continues with its existing frames.
    guard let slab = PageMemory(bytes: count * pageBytes) else { return }
    slabs.append(slab)
    for page in (0..<count).reversed() {
      freeFrames.append(frames.count + page)
    }
    for page in 0..<count {
      unsafe frames.append(Frame(memory: slab.start + page * pageBytes))
    }
  }

  // MARK: Eviction

  /// Evicts one page. Call this only when all frames are used.
  private mutating func evict() {
    while true {
      let frame = hand
      hand = (hand + 1) % frames.count
      guard frames[frame].wasReferenced else { return free(frame) }
      frames[frame].wasReferenced = false
    }
  }

  private mutating func free(_ frame: Int) {
    let id = frames[frame].id
    guard let slot = slot(of: id, PageHash(id)) else {
      preconditionFailure("a used frame is in the table")
    }
    table.remove(at: slot)
    frames[frame].isUsed = false
    freeFrames.append(frame)
  }

  mutating func removePages(ofFile file: UInt64) {
    for frame in frames.indices where frames[frame].isUsed && frames[frame].id.file == file { free(frame) }
  }

  mutating func setFramesMax(_ count: Int) {
    framesMax = count
    guard frames.count > count else { return }
    while frames.count > count { frames.removeLast(slabs.removeLast().byteCount / pageBytes) }
    hand = 0
    freeFrames = frames.indices.filter { !frames[$0].isUsed }
    // A new table is created instead of clearing the existing one, so that the table is no larger than
    // necessary.
    table = SlotTable()
    for frame in frames.indices where frames[frame].isUsed {
      table.insert(Slot(PageHash(frames[frame].id).fingerprint, UInt32(frame)))
    }
  }

  // MARK: Invariants

  func checkInvariants(shard: Int) {
    table.checkInvariants()
    precondition(frames.count <= framesMax, "a shard has more frames than its budget allows")
    precondition(
      frames.count * pageBytes == slabs.reduce(0) { $0 + $1.byteCount }, "a frame has no slab")
    precondition(freeFrames.allSatisfy { !frames[$0].isUsed }, "a free frame holds a page")
    precondition(Set(freeFrames).count == freeFrames.count, "a frame is free twice")
    let used = frames.indices.filter { frames[$0].isUsed }
    precondition(used.count == pageCount, "a frame is neither used nor free")
    precondition(used.count == table.slots.count { !$0.isEmpty }, "the table has a slot without a frame")
    for frame in used {
      let hash = PageHash(frames[frame].id)
      precondition(hash.shard == shard, "a page is in the wrong shard")
      let slot = slot(of: frames[frame].id, hash).map { table.slots[$0] }
      precondition(slot.map { Int($0.ordinal) } == frame, "a page is cached twice")
    }
  }
}

/// Memory for pages, allocated directly from the system, so that it returns to the system as soon as it is
/// freed.
@safe
final class PageMemory: @unchecked Sendable {
  // Why `@unchecked Sendable` is correct: the bytes are accessed either by the one thread that loads a page
  // into this memory, or while the shard's lock is held.
  let start: UnsafeMutableRawPointer
  let byteCount: Int

  /// Allocates zeroed memory; returns nil if the system has none left.
  init?(bytes: Int) {
    let start = unsafe mmap(nil, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANON, -1, 0)
    guard let start = unsafe start, unsafe start != MAP_FAILED else { return nil }
    unsafe self.start = unsafe start
    byteCount = bytes
  }

  deinit { unsafe munmap(start, byteCount) }

  var bytes: RawSpan {
    @_lifetime(borrow self)
    get {
      let view = unsafe RawSpan(_unsafeStart: start, byteCount: byteCount)
      return unsafe _overrideLifetime(view, borrowing: self)
    }
  }

  var mutableBytes: MutableRawSpan {
    @_lifetime(borrow self)
    get {
      let view = unsafe MutableRawSpan(_unsafeStart: start, byteCount: byteCount)
      return unsafe _overrideLifetime(view, borrowing: self)
    }
  }
}
