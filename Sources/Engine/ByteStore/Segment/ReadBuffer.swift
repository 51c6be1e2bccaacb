// The buffer that a read decodes its entry into.
//
//   memory := free dictionary output
//
// The dictionary ends at byte 32 Ki, where the output begins, because LZ4 decodes fastest if the
// dictionary directly precedes the output. The buffer keeps up to eight of these memory blocks, one per
// segment. A scan in key order alternates between segments with almost every entry. A dictionary is
// copied into a block when it is needed twice in a row. Random reads over many segments therefore copy
// no dictionaries and decode against the original. Unused blocks are replaced in turn.

import Libc

/// The decoded bytes of one entry. The caller keeps the buffer for later reads, so that these reads need no
/// allocation.
@safe
package struct ReadBuffer: ~Copyable, @unchecked Sendable {
  // Why `@unchecked Sendable` is correct: this struct is the only owner of `memory`.

  /// The size of the longest entry: a value of 8 MiB, its key and the lengths.
  static let rawBytesMax = 8 << 20 + 64 << 10
  private static let outputStart = EntryDictionary.bytesMax
  private static let capacityMin = 4 << 10
  /// The largest output buffer that is kept. A larger one is freed when the next read concerns another
  /// segment.
  private static let capacityKept = 64 << 10

  /// The maximum number of blocks. A segment holds about a quarter of a million documents of usual size.
  private static let blocksMax = 8

  @safe private struct DecodeBlock {
    /// The memory block, fully initialised. Otherwise hostile input could make LZ4 copy output bytes that it
    /// has not written yet.
    var memory: UnsafeMutableRawBufferPointer
    /// The dictionary that the block contains, ending at `outputStart`. The reference keeps the dictionary
    /// object alive, so that no new object can get the same identity.
    var dictionary: EntryDictionary?
  }

  /// The block that the last entry was decoded into.
  private var currentBlock: DecodeBlock
  private var others: [DecodeBlock] = []
  /// The index in `others` of the next block to replace.
  private var replacementIndex = 0
  /// The dictionary of the last read, if no block contains it.
  private var candidate: EntryDictionary?
  private var outputBytes = 0
  /// The offset of `bytes` in the output.
  private var start = 0
  private var keyRange = 0..<0

  package init() {
    currentBlock = unsafe DecodeBlock(memory: Self.makeMemory(outputCapacity: Self.capacityMin))
  }

  deinit {
    unsafe free(currentBlock.memory.baseAddress)
    for other in others { unsafe free(other.memory.baseAddress) }
  }

  /// The size of all blocks together. The memory of a large entry is freed as soon as another segment is
  /// read.
  var capacity: Int { others.reduce(unsafe currentBlock.memory.count) { unsafe $0 + $1.memory.count } }

  /// The result of the last read; empty if it failed.
  package var bytes: RawSpan {
    @_lifetime(borrow self)
    borrowing get {
      let view = unsafe RawSpan(_unsafeStart: outputAddress + start, byteCount: outputBytes &- start)
      return unsafe _overrideLifetime(view, borrowing: self)
    }
  }

  /// The key of the entry, after `splitEntry` or `fill(with:putAt:)`.
  package var key: RawSpan {
    @_lifetime(borrow self)
    borrowing get {
      precondition(keyRange.upperBound <= outputBytes, "a key is read after the entry was split")
      let view = unsafe RawSpan(
        _unsafeStart: outputAddress + keyRange.lowerBound, byteCount: keyRange.count)
      return unsafe _overrideLifetime(view, borrowing: self)
    }
  }

  /// Calls `body` with the key and the value of the entry, after `splitEntry` or `fill(with:putAt:)`.
  package borrowing func withEntry<Result, Failure: Error>(
    _ body: (_ key: RawSpan, _ value: RawSpan) throws(Failure) -> Result
  ) throws(Failure) -> Result {
    try body(key, bytes)
  }

  /// Calls `body` with the result of the last read.
  package borrowing func withBytes<Result>(_ body: (RawSpan) -> Result) -> Result { body(bytes) }

  /// Splits the entry: `key` becomes its key, and `bytes` is reduced to its value. Returns false if `bytes`
  /// is not an entry.
  mutating func splitEntry() -> Bool {
    guard let entry = EntryBytes.split(bytes) else { return false }
    keyRange = start + entry.key.lowerBound..<start + entry.key.upperBound
    dropFirst(entry.valueStart)
    return true
  }

  /// Copies the key and the value of a put.
  mutating func fill(with commit: CommitBody, putAt offset: Int) {
    let (key, value) = commit.ranges(ofPutAt: offset)
    fill(with: commit.bytes.rawSpan.extracting(key.lowerBound..<value.upperBound))
    keyRange = 0..<key.count
    dropFirst(key.count)
  }

  /// Drops the first `count` bytes of `bytes`, for example the key of an entry.
  mutating func dropFirst(_ count: Int) {
    precondition(count >= 0 && start + count <= outputBytes, "no more bytes than there are")
    start += count
  }

  /// Copies uncompressed bytes.
  mutating func fill(with bytes: RawSpan) {
    start = 0
    makeRoom(for: bytes.byteCount)
    unsafe bytes.withUnsafeBytes { unsafe output.copyMemory(from: $0) }
    outputBytes = bytes.byteCount
  }

  /// Lets `fill` write `count` bytes, which become `bytes`. If `fill` throws, `bytes` is empty.
  mutating func load<Failure: Error>(
    _ count: Int, _ fill: (inout MutableRawSpan) throws(Failure) -> Void
  ) throws(Failure) {
    outputBytes = 0
    start = 0
    makeRoom(for: count)
    guard let room = unsafe output.baseAddress else { preconditionFailure("there is room") }
    var target = unsafe MutableRawSpan(_unsafeStart: room, byteCount: count)
    try fill(&target)
    outputBytes = count
  }

  /// Restricts `bytes` to a range of the loaded bytes.
  mutating func restrict(_ range: Range<Int>) {
    precondition(range.lowerBound >= 0 && range.upperBound <= outputBytes, "no more bytes than there are")
    start = range.lowerBound
    outputBytes = range.upperBound
  }

  /// Decodes exactly `rawBytes` bytes from `stored`, which is untrusted. Returns false if it does not decode
  /// to that size. With a wrong dictionary, decoding may succeed but yield bytes that differ from the
  /// original.
  mutating func decompress(
    _ stored: RawSpan, rawBytes: Int, against dictionary: EntryDictionary
  ) -> Bool {
    outputBytes = 0
    start = 0
    guard (0...Self.rawBytesMax).contains(rawBytes), !stored.isEmpty,
      Int32(exactly: stored.byteCount) != nil
    else { return false }
    let isPlaced = place(dictionary)
    makeRoom(for: rawBytes)
    // Reads and writes are both bounded: LZ4 reads only `stored` and the dictionary. It writes only the first
    // `rawBytes` bytes of the output, which `makeRoom` has allocated.
    let decoded = unsafe stored.withUnsafeBytes { stored in
      let target = unsafe UnsafeMutableRawBufferPointer(rebasing: output[..<rawBytes])
      guard !isPlaced else {
        return unsafe LZ4Block.decode(
          stored, into: target, dictionary: UnsafeRawBufferPointer(dictionaryMemory))
      }
      return unsafe dictionary.bytes.withUnsafeBytes { elsewhere in
        unsafe LZ4Block.decode(stored, into: target, dictionary: elsewhere)
      }
    }
    guard decoded == rawBytes else { return false }
    outputBytes = rawBytes
    return true
  }

  // MARK: Memory

  private var memory: UnsafeMutableRawBufferPointer { unsafe currentBlock.memory }

  /// The address of the output. `start` and `outputBytes` never exceed the output, because each change of
  /// them is checked, so that reads need not compare them again.
  private var outputAddress: UnsafeRawPointer {
    unsafe UnsafeRawPointer(memory.baseAddress.unsafelyUnwrapped) + Self.outputStart
  }

  private var output: UnsafeMutableRawBufferPointer {
    unsafe UnsafeMutableRawBufferPointer(rebasing: memory[Self.outputStart...])
  }

  private var dictionaryMemory: UnsafeMutableRawBufferPointer {
    let count = currentBlock.dictionary?.bytes.count ?? 0
    return unsafe UnsafeMutableRawBufferPointer(
      rebasing: memory[Self.outputStart - count..<Self.outputStart])
  }

  /// Copies the dictionary in front of the output if the copy is worthwhile. Returns whether the dictionary
  /// is there.
  private mutating func place(_ new: EntryDictionary) -> Bool {
    guard new !== currentBlock.dictionary else { return true }
    for place in others.indices where others[place].dictionary === new {
      shrinkLargeBlock()
      swap(&currentBlock, &others[place])
      return true
    }
    guard new === candidate else {
      candidate = new
      return false
    }
    candidate = nil
    if currentBlock.dictionary != nil { switchBlock() }
    currentBlock.dictionary = new
    unsafe dictionaryMemory.copyBytes(from: new.bytes)
    return true
  }

  /// Switches to a new block. If the maximum number of blocks exists, switches to one of them, whose
  /// dictionary will be replaced.
  private mutating func switchBlock() {
    shrinkLargeBlock()
    guard others.count + 1 == Self.blocksMax else {
      others.append(currentBlock)
      currentBlock = unsafe DecodeBlock(memory: Self.makeMemory(outputCapacity: Self.capacityMin))
      return
    }
    swap(&currentBlock, &others[replacementIndex])
    replacementIndex = (replacementIndex + 1) % others.count
  }

  /// Frees the current block if it is large, so that large entries of several segments are never in memory at
  /// the same time.
  private mutating func shrinkLargeBlock() {
    guard unsafe currentBlock.memory.count > Self.outputStart + Self.capacityKept else { return }
    unsafe free(currentBlock.memory.baseAddress)
    currentBlock = unsafe DecodeBlock(memory: Self.makeMemory(outputCapacity: Self.capacityMin))
  }

  private mutating func makeRoom(for rawBytes: Int) {
    let capacity = unsafe memory.count - Self.outputStart
    guard rawBytes > capacity else { return }
    let larger = unsafe Self.makeMemory(outputCapacity: max(rawBytes, 2 * capacity))
    unsafe larger.copyMemory(from: UnsafeRawBufferPointer(rebasing: memory[..<Self.outputStart]))
    unsafe free(memory.baseAddress)
    unsafe currentBlock.memory = larger
  }

  private static func makeMemory(outputCapacity: Int) -> UnsafeMutableRawBufferPointer {
    let count = outputStart + outputCapacity
    // `calloc` gets zero pages from the system, so a large buffer is not written twice.
    guard let memory = unsafe calloc(count, 1) else { preconditionFailure("there is no memory for a value") }
    return unsafe UnsafeMutableRawBufferPointer(start: memory, count: count)
  }
}
