// Where a read puts the entry that it found.
//
//   memory := free dictionary output
//
// The dictionary ends at byte 32 Ki, where the output begins: LZ4 decodes fastest if what an entry refers to
// stands directly before it. So there is such a memory, a bay, for each of up to eight segments: who reads in the order
// of keys goes from one to the other with each entry. A dictionary is copied to a bay when it is needed twice in a row:
// who reads here and there in very many segments has each entry decoded against the dictionary where that is. Of the
// bays that were left, each gives its place away in its turn.

internal import CLZ4

#if canImport(Darwin)
import Darwin
#elseif canImport(Musl)
import Musl
#else
import Glibc
#endif

/// The bytes of one entry, in memory that the caller keeps for the next read, so that reads allocate nothing.
@safe
package struct ReadBuffer: ~Copyable, @unchecked Sendable {
  // This struct is the only owner of `memory`; that is what makes it Sendable.

  /// The longest entry: 8 MiB of value, and what goes with it.
  static let rawBytesMax = 8 << 20 + 64 << 10
  private static let outputStart = EntryDictionary.bytesMax
  private static let capacityMin = 4 << 10
  /// Room for larger entries is let go when another segment is read.
  private static let capacityKept = 64 << 10

  /// Of all of them; a segment has about a quarter of a million documents of usual size.
  private static let baysMax = 8

  @safe private struct Bay {
    /// Initialised throughout: hostile input can make LZ4 copy output bytes that it has not written yet.
    var memory: UnsafeMutableRawBufferPointer
    /// The one whose bytes end at `outputStart`. It is held, so that no other can come to have its identity.
    var dictionary: EntryDictionary?
  }

  /// Where the last entry is.
  private var bay: Bay
  private var others: [Bay] = []
  /// Of the others, the one that goes next.
  private var victim = 0
  /// A dictionary that was needed last and has no bay.
  private var candidate: EntryDictionary?
  private var outputBytes = 0
  /// Of the output; what comes before it is not shown as `bytes`.
  private var start = 0
  private var keyRange = 0..<0

  package init() { bay = unsafe Bay(memory: Self.makeMemory(outputCapacity: Self.capacityMin)) }

  deinit {
    unsafe free(bay.memory.baseAddress)
    for other in others { unsafe free(other.memory.baseAddress) }
  }

  /// Of all memory. What large entries have taken is let go when another segment is read.
  var capacity: Int { others.reduce(unsafe bay.memory.count) { unsafe $0 + $1.memory.count } }

  /// What the last read left; nothing if it failed.
  package var bytes: RawSpan {
    @_lifetime(borrow self)
    borrowing get {
      let output = unsafe UnsafeRawBufferPointer(
        rebasing: memory[Self.outputStart + start..<Self.outputStart + outputBytes])
      let view = unsafe RawSpan(_unsafeBytes: output)
      return unsafe _overrideLifetime(view, borrowing: self)
    }
  }

  /// Of an entry that was split.
  package var key: RawSpan {
    @_lifetime(borrow self)
    borrowing get {
      let output = unsafe UnsafeRawBufferPointer(
        rebasing: memory[Self.outputStart + keyRange.lowerBound..<Self.outputStart + keyRange.upperBound])
      let view = unsafe RawSpan(_unsafeBytes: output)
      return unsafe _overrideLifetime(view, borrowing: self)
    }
  }

  /// Calls `body` with the key and the value of an entry that was split.
  package borrowing func withEntry<Result, Failure: Error>(
    _ body: (_ key: RawSpan, _ value: RawSpan) throws(Failure) -> Result
  ) throws(Failure) -> Result {
    try body(key, bytes)
  }

  /// Shows of an entry its value, and its key beside it. False if the bytes are no entry.
  mutating func splitEntry() -> Bool {
    guard let entry = EntryBytes.split(bytes) else { return false }
    keyRange = start + entry.key.lowerBound..<start + entry.key.upperBound
    dropFirst(entry.valueStart)
    return true
  }

  /// Takes the key and the value of a put.
  mutating func fill(with commit: CommitBody, putAt offset: Int) {
    let (key, value) = commit.ranges(ofPutAt: offset)
    fill(with: commit.bytes.rawSpan.extracting(key.lowerBound..<value.upperBound))
    keyRange = 0..<key.count
    dropFirst(key.count)
  }

  /// Shows the bytes from here on only: of an entry its value.
  mutating func dropFirst(_ count: Int) {
    precondition(count >= 0 && start + count <= outputBytes, "no more bytes than there are")
    start += count
  }

  /// Takes plain bytes.
  mutating func fill(with bytes: RawSpan) {
    start = 0
    makeRoom(for: bytes.byteCount)
    unsafe bytes.withUnsafeBytes { unsafe output.copyMemory(from: $0) }
    outputBytes = bytes.byteCount
  }

  /// Has `fill` write `count` bytes, which are shown then; nothing if it throws.
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

  /// Shows only these of the bytes that were loaded.
  mutating func show(_ range: Range<Int>) {
    precondition(range.lowerBound >= 0 && range.upperBound <= outputBytes, "no more bytes than there are")
    start = range.lowerBound
    outputBytes = range.upperBound
  }

  /// Decodes exactly `rawBytes` bytes; false if `stored`, which nobody vouches for, does not decode to so
  /// many. Against another dictionary than the writer's it may give other bytes than the writer's.
  mutating func decompress(
    _ stored: RawSpan, rawBytes: Int, against dictionary: EntryDictionary
  ) -> Bool {
    outputBytes = 0
    start = 0
    guard (0...Self.rawBytesMax).contains(rawBytes), !stored.isEmpty,
      let storedBytes = Int32(exactly: stored.byteCount)
    else { return false }
    let isPlaced = place(dictionary)
    makeRoom(for: rawBytes)
    // Bounded on both sides: LZ4 reads `stored` and the dictionary, and writes the first `rawBytes` of the
    // output, which `makeRoom` made.
    let decoded = unsafe stored.withUnsafeBytes { stored in
      guard !isPlaced else {
        return unsafe LZ4_decompress_safe_usingDict(
          stored.baseAddress, output.baseAddress, storedBytes, Int32(rawBytes),
          dictionaryPlace.baseAddress, Int32(dictionaryPlace.count))
      }
      return unsafe dictionary.bytes.withUnsafeBytes { elsewhere in
        unsafe LZ4_decompress_safe_usingDict(
          stored.baseAddress, output.baseAddress, storedBytes, Int32(rawBytes),
          elsewhere.baseAddress, Int32(elsewhere.count))
      }
    }
    guard Int(decoded) == rawBytes else { return false }
    outputBytes = rawBytes
    return true
  }

  // MARK: Memory

  private var memory: UnsafeMutableRawBufferPointer { unsafe bay.memory }

  private var output: UnsafeMutableRawBufferPointer {
    unsafe UnsafeMutableRawBufferPointer(rebasing: memory[Self.outputStart...])
  }

  private var dictionaryPlace: UnsafeMutableRawBufferPointer {
    let count = bay.dictionary?.bytes.count ?? 0
    return unsafe UnsafeMutableRawBufferPointer(
      rebasing: memory[Self.outputStart - count..<Self.outputStart])
  }

  /// Whether the dictionary stands before the output.
  private mutating func place(_ new: EntryDictionary) -> Bool {
    guard new !== bay.dictionary else { return true }
    for place in others.indices where others[place].dictionary === new {
      leave()
      swap(&bay, &others[place])
      return true
    }
    guard new === candidate else {
      candidate = new
      return false
    }
    candidate = nil
    if bay.dictionary != nil { turnToAnother() }
    bay.dictionary = new
    unsafe dictionaryPlace.copyBytes(from: new.bytes)
    return true
  }

  /// A new bay, or one in whose place another dictionary comes.
  private mutating func turnToAnother() {
    leave()
    guard others.count + 1 == Self.baysMax else {
      others.append(bay)
      bay = unsafe Bay(memory: Self.makeMemory(outputCapacity: Self.capacityMin))
      return
    }
    swap(&bay, &others[victim])
    victim = (victim + 1) % others.count
  }

  /// Large entries of many segments are never in memory together.
  private mutating func leave() {
    guard unsafe bay.memory.count > Self.outputStart + Self.capacityKept else { return }
    unsafe free(bay.memory.baseAddress)
    bay = unsafe Bay(memory: Self.makeMemory(outputCapacity: Self.capacityMin))
  }

  private mutating func makeRoom(for rawBytes: Int) {
    let capacity = unsafe memory.count - Self.outputStart
    guard rawBytes > capacity else { return }
    let larger = unsafe Self.makeMemory(outputCapacity: max(rawBytes, 2 * capacity))
    unsafe larger.copyMemory(from: UnsafeRawBufferPointer(rebasing: memory[..<Self.outputStart]))
    unsafe free(memory.baseAddress)
    unsafe bay.memory = larger
  }

  private static func makeMemory(outputCapacity: Int) -> UnsafeMutableRawBufferPointer {
    let count = outputStart + outputCapacity
    // Zeros that the system gives: much memory for a large value is not written twice.
    guard let memory = unsafe calloc(count, 1) else { preconditionFailure("there is no memory for a value") }
    return unsafe UnsafeMutableRawBufferPointer(start: memory, count: count)
  }
}
