// One of the parts of the page cache, each behind its own lock.
//
// Frames are places for a page. They come in slabs, as they are needed and as the budget allows, and go with
// them when the budget shrinks.
//
// Invariants: a frame either holds a page and has one slot in the table, or it is in the list of free ones.
// There are as many frames as the slabs have pages, and no more than the budget allows.
//
// A page goes by second chance: the hand passes over the frames in turn, spares those that were asked for
// since it came by, and takes the first that was not.

import Libc

struct PageCacheShard {
  /// So many bytes of frames are made at once.
  private static let slabBytes = 256 << 10

  @safe private struct Frame {
    var id = PageCache.PageID(file: 0, page: 0)
    var isUsed = false
    var wasReferenced = false
    /// A frame in a slab. The slab outlives its frames.
    let memory: UnsafeMutableRawPointer
  }

  private let pageBytes: Int
  private var framesMax = 0
  private var slabs: [PageMemory] = []
  private var frames: [Frame] = []
  private var freeFrames: [Int] = []
  /// Finds the used frames: a slot's ordinal is the index of a frame.
  private var table = SlotTable()
  private var hand = 0
  /// A page to load into, between two loads.
  private var recycledLog: PageMemory?
  private(set) var hits: UInt64 = 0
  private(set) var misses: UInt64 = 0

  init(pageBytes: Int) { self.pageBytes = pageBytes }

  var frameCount: Int { frames.count }
  var pageCount: Int { frames.count - freeFrames.count }

  // MARK: Lookup

  /// The frame of a page, which has been asked for now; nil, and a miss, if there is none.
  mutating func find(_ id: PageCache.PageID, _ hash: PageHash) -> Int? {
    guard let slot = slot(of: id, hash) else {
      misses += 1
      return nil
    }
    let frame = Int(table.slots[slot].ordinal)
    // Only if it is new, so that processors which ask for the same pages can share what they know of them.
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

  mutating func takeRecycledLog() -> PageMemory? {
    defer { recycledLog = nil }
    return recycledLog
  }

  /// Copies a page in, unless another thread was first or there is no room at all. Its memory is the next
  /// spare.
  mutating func keep(_ page: PageMemory, as id: PageCache.PageID, _ hash: PageHash) {
    recycledLog = page
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
    // Without it the cache makes do with the frames that it has.
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

  /// Only when all frames are used.
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
    // Made anew rather than emptied, so that it is no larger than it has to be.
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
    precondition(used.count == table.slots.count { !$0.isEmpty }, "the table has a slot of no frame")
    for frame in used {
      let hash = PageHash(frames[frame].id)
      precondition(hash.shard == shard, "a page is in the wrong shard")
      let slot = slot(of: frames[frame].id, hash).map { table.slots[$0] }
      precondition(slot.map { Int($0.ordinal) } == frame, "a page is there twice")
    }
  }
}

/// Memory for pages, straight from the system, so that the system has it back as soon as it is let go.
@safe
final class PageMemory: @unchecked Sendable {
  // The bytes are touched by whoever loads into a spare, which is one thread, or under the shard's lock; that
  // is what makes it Sendable.
  let start: UnsafeMutableRawPointer
  let byteCount: Int

  /// All zero; nil if the system has none to give.
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
