// Builds an index from unsorted keys.
//
//   1. Collect keys and ordinals one after the other in chunks.
//   2. Create a record for each key, with the first eight bytes after the common prefix. Radix-sort the
//      records: first by as many high bits as distinguish most of them, then by the rest where needed.
//   3. Where the eight bytes are equal, continue with the next eight. Small groups are sorted by
//      comparison.
//   4. Pass the sorted keys to a builder. Of equal keys, the last ordinal wins.

import ByteStore
import Libc

@safe
struct OrderedIndexSorter: ~Copyable {
  private static let chunkBits = 20
  private static let chunkBytes = 1 << chunkBits
  /// Extra bytes at the end of each chunk, because a read of eight bytes may extend past the end of the last
  /// key.
  private static let slackBytes = 8
  /// Ranges of at most this many records are sorted by comparison.
  private static let insertionSortMax = 24
  private static let reportInterval = 1 << 16

  @safe private struct Chunk: BitwiseCopyable {
    let start: UnsafeMutableRawPointer
  }

  private struct Record: BitwiseCopyable {
    var head: UInt64
    /// Location of the entry: chunk number and offset.
    var place: UInt64
  }

  /// The number of bytes that an entry takes in addition to the key itself.
  static var entryOverheadBytes: Int { 6 + MemoryLayout<Record>.stride }

  /// Entries of the form ordinal:u32 keyBytes:u16 key.
  private var chunks: [Chunk] = []
  private var chunkUsed = chunkBytes
  private var records: [Record] = []
  private var firstPlace: UInt64 = 0
  /// Length of the prefix that all keys share.
  private var commonBytes = 0

  init() {}

  deinit {
    for chunk in chunks { unsafe chunk.start.deallocate() }
  }

  /// Number of entries so far, duplicates included.
  var count: Int { records.count }

  /// The memory that `build` needs for the entries so far: the entries, two records for each of them, and the
  /// index.
  var peakBytes: Int {
    2 * (chunks.count << Self.chunkBits) + 2 * MemoryLayout<Record>.stride * records.capacity
  }

  mutating func add(_ key: RawSpan, _ ordinal: UInt32) {
    precondition((1...OrderedIndex.keyBytesMax).contains(key.byteCount), "a key has 1 to 768 bytes")
    let bytes = 6 + key.byteCount
    if chunkUsed + bytes > Self.chunkBytes { addChunk() }
    let place = UInt64((chunks.count - 1) << Self.chunkBits | chunkUsed)
    let target = unsafe chunks[chunks.count - 1].start + chunkUsed
    unsafe target.storeBytes(of: ordinal, as: UInt32.self)
    unsafe target.storeBytes(of: UInt16(key.byteCount), toByteOffset: 4, as: UInt16.self)
    unsafe key.withUnsafeBytes { source in
      guard let start = source.baseAddress else { return }
      unsafe (target + 6).copyMemory(from: start, byteCount: source.count)
    }
    chunkUsed += bytes
    records.append(Record(head: 0, place: place))
    if records.count == 1 {
      firstPlace = place
      commonBytes = key.byteCount
    } else if commonBytes > 0 {
      let first = Key(chunks, firstPlace)
      commonBytes = unsafe OrderedIndexKey.commonBytes(
        first.bytes, target + 6, bytes: min(commonBytes, key.byteCount))
    }
  }

  private mutating func addChunk() {
    let chunk = UnsafeMutableRawPointer.allocate(byteCount: Self.chunkBytes + Self.slackBytes, alignment: 8)
    unsafe (chunk + Self.chunkBytes).initializeMemory(as: UInt8.self, repeating: 0, count: Self.slackBytes)
    unsafe chunks.append(Chunk(start: chunk))
    chunkUsed = 0
  }

  /// Builds an index from all entries and resets the sorter. `proceed` receives the completed fraction from
  /// time to time. If it returns false, the result is nil.
  mutating func build(_ proceed: (Double) -> Bool = { _ in true }) -> OrderedIndex? {
    defer { self = OrderedIndexSorter() }
    let count = records.count
    guard count > 0 else { return OrderedIndex() }
    let aux = UnsafeMutablePointer<Record>.allocate(capacity: count)
    defer { unsafe aux.deallocate() }
    let chunks = chunks
    let commonBytes = commonBytes
    return unsafe records.withUnsafeMutableBufferPointer { buffer in
      guard let start = buffer.baseAddress else { return nil }
      let isSorted = withoutActuallyEscaping(proceed) { proceed in
        var sort = unsafe Sort(chunks: chunks, records: start, aux: aux, total: count, proceed: proceed)
        sort.sortByKeys(0..<count, from: commonBytes)
        return !sort.isCancelled
      }
      guard isSorted else { return nil }
      return unsafe Self.build(UnsafePointer(start), count, chunks: chunks, proceed)
    }
  }

  private static func build(
    _ records: UnsafePointer<Record>, _ count: Int, chunks: [Chunk],
    _ proceed: (Double) -> Bool
  ) -> OrderedIndex? {
    var builder = OrderedIndexBuilder()
    var start = 0
    while start < count {
      let end = min(start + 32, count)
      // Prefetch: the keys are scattered in memory. Without this first loop, the loop below would wait for
      // one cache miss after another.
      var bytes = 0
      for index in start..<end {
        let key = unsafe Key(chunks, records[index].place)
        bytes |= key.count | Int(unsafe key.bytes.load(fromByteOffset: key.count - 1, as: UInt8.self))
      }
      precondition(bytes > 0, "no key is empty")
      for index in start..<end {
        let key = unsafe Key(chunks, records[index].place)
        let span = unsafe RawSpan(_unsafeStart: key.bytes, byteCount: key.count)
        let order = builder.put(span, key.ordinal)
        precondition(order != .before, "the sorter sorts")
      }
      if start / reportInterval != end / reportInterval, !proceed(0.5 + 0.5 * Double(end) / Double(count)) {
        return nil
      }
      start = end
    }
    return builder.finish()
  }

  @safe private struct Key {
    let bytes: UnsafeRawPointer
    let count: Int
    let ordinal: UInt32

    @inline(__always)
    init(_ chunks: [Chunk], _ place: UInt64) {
      let entry = unsafe chunks[Int(place >> UInt64(chunkBits))].start + Int(place & UInt64(chunkBytes - 1))
      ordinal = unsafe entry.loadUnaligned(as: UInt32.self)
      count = Int(unsafe entry.loadUnaligned(fromByteOffset: 4, as: UInt16.self))
      unsafe bytes = UnsafeRawPointer(entry + 6)
    }

    /// Eight bytes as a big-endian number, with zeros after the end.
    func head(at offset: Int) -> UInt64 {
      let left = count - offset
      guard left > 0 else { return 0 }
      let word = UInt64(bigEndian: unsafe bytes.loadUnaligned(fromByteOffset: offset, as: UInt64.self))
      return left >= 8 ? word : word & ~(UInt64.max >> UInt64(8 * left))
    }

    func comesBefore(_ other: Key, from offset: Int) -> Bool {
      let left = count
      let right = other.count
      let order = unsafe memcmp(bytes + offset, other.bytes + offset, max(0, min(left, right) - offset))
      return order == 0 ? left < right : order < 0
    }
  }

  // MARK: Sorting

  @safe private struct Sort {
    let chunks: [Chunk]
    let records: UnsafeMutablePointer<Record>
    let aux: UnsafeMutablePointer<Record>
    let total: Int
    let proceed: (Double) -> Bool
    var isCancelled = false
    var sorted = 0
    var reported = 0

    private func key(_ index: Int) -> Key { unsafe Key(chunks, records[index].place) }

    /// Sorts keys that share their first `offset` bytes.
    mutating func sortByKeys(_ range: Range<Int>, from offset: Int) {
      guard range.count > insertionSortMax else { return insertionSort(range, from: offset) }
      for index in range { unsafe records[index].head = key(index).head(at: offset) }
      sortByHeads(range)
      var start = range.lowerBound
      while start < range.upperBound, !isCancelled {
        var end = start + 1
        while end < range.upperBound, unsafe records[end].head == records[start].head { end += 1 }
        if end - start > 1 { sortEqualHeads(start..<end, at: offset) } else { addSorted(1) }
        start = end
      }
    }

    /// Sorts keys that have the same eight bytes at `offset`. Keys that end within these eight bytes differ
    /// only in their number of trailing zeros, so they are sorted by length.
    private mutating func sortEqualHeads(_ range: Range<Int>, at offset: Int) {
      guard range.count > insertionSortMax else { return insertionSort(range, from: offset) }
      var ends = [Int](repeating: 0, count: 11)
      func bucket(_ index: Int) -> Int { min(max(key(index).count - offset, 0), 9) }
      for index in range { ends[bucket(index) + 1] += 1 }
      for bucket in 1...10 { ends[bucket] += ends[bucket - 1] }
      let longer = range.lowerBound + ends[9]
      if longer > range.lowerBound {
        for index in range {
          let bucket = bucket(index)
          unsafe aux[range.lowerBound + ends[bucket]] = unsafe records[index]
          ends[bucket] += 1
        }
        unsafe (records + range.lowerBound).update(from: aux + range.lowerBound, count: range.count)
        addSorted(longer - range.lowerBound)
      }
      let rest = longer..<range.upperBound
      guard !rest.isEmpty else { return }
      sortByKeys(rest, from: commonBytes(rest, from: offset + 8))
    }

    private func commonBytes(_ range: Range<Int>, from offset: Int) -> Int {
      let first = key(range.lowerBound)
      var common = first.count - offset
      for index in range.dropFirst() where common > 0 {
        let key = key(index)
        common = unsafe OrderedIndexKey.commonBytes(
          first.bytes + offset, key.bytes + offset, bytes: min(common, key.count - offset))
      }
      return offset + common
    }

    /// Insertion sort; stable.
    private mutating func insertionSort(_ range: Range<Int>, from offset: Int) {
      for index in range.dropFirst() {
        let record = unsafe records[index]
        let key = key(index)
        var place = index
        while place > range.lowerBound, key.comesBefore(self.key(place - 1), from: offset) {
          unsafe records[place] = unsafe records[place - 1]
          place -= 1
        }
        unsafe records[place] = record
      }
      addSorted(range.count)
    }

    /// Sorts by head; stable.
    private mutating func sortByHeads(_ range: Range<Int>) {
      guard range.count > insertionSortMax else {
        for index in range.dropFirst() {
          let record = unsafe records[index]
          var place = index
          while place > range.lowerBound, unsafe record.head < records[place - 1].head {
            unsafe records[place] = unsafe records[place - 1]
            place -= 1
          }
          unsafe records[place] = record
        }
        return
      }
      let first = unsafe records[range.lowerBound].head
      var difference: UInt64 = 0
      for index in range { unsafe difference |= records[index].head ^ first }
      guard difference != 0 else { return }
      let top = 64 - difference.leadingZeroBitCount
      let bits = range.count > 1 << 14 ? 11 : 8
      let wanted = Int.bitWidth - range.count.leadingZeroBitCount + 6
      let passes = (wanted + bits - 1) / bits
      let bottom = max(difference.trailingZeroBitCount, top - passes * bits)
      radixSort(range, from: bottom, to: top, bits: bits)
      guard bottom > difference.trailingZeroBitCount, !isCancelled else { return }
      var start = range.lowerBound
      while start < range.upperBound {
        var end = start + 1
        let high = unsafe records[start].head >> UInt64(bottom)
        while end < range.upperBound, unsafe records[end].head >> UInt64(bottom) == high { end += 1 }
        if end - start > 1 { sortByHeads(start..<end) }
        start = end
      }
    }

    /// Radix sort from the lowest bits to the highest; each pass is stable.
    private mutating func radixSort(_ range: Range<Int>, from bottom: Int, to top: Int, bits: Int) {
      var source = unsafe records + range.lowerBound
      var target = unsafe aux + range.lowerBound
      let count = range.count
      for shift in stride(from: bottom, to: top, by: bits) {
        guard report(count) else { return }
        let mask = UInt64(1) << UInt64(min(bits, top - shift)) - 1
        unsafe withUnsafeTemporaryAllocation(of: Int.self, capacity: 1 << bits) { places in
          unsafe places.initialize(repeating: 0)
          for index in 0..<count {
            unsafe places[Int(source[index].head >> UInt64(shift) & mask)] += 1
          }
          var sum = 0
          for bucket in 0..<1 << bits {
            let entries = unsafe places[bucket]
            unsafe places[bucket] = sum
            sum += entries
          }
          for index in 0..<count {
            let bucket = Int(unsafe source[index].head >> UInt64(shift) & mask)
            unsafe target[places[bucket]] = unsafe source[index]
            unsafe places[bucket] += 1
          }
        }
        unsafe swap(&source, &target)
      }
      if unsafe source != records + range.lowerBound {
        unsafe (records + range.lowerBound).update(from: source, count: count)
      }
    }

    // MARK: Progress

    private mutating func addSorted(_ count: Int) {
      sorted += count
      if sorted - reported >= reportInterval { _ = report(reportInterval) }
    }

    /// False if the sort is cancelled. Small amounts are not reported.
    private mutating func report(_ count: Int) -> Bool {
      guard count >= reportInterval, !isCancelled else { return !isCancelled }
      reported = sorted
      isCancelled = !proceed(0.5 * Double(sorted) / Double(total))
      return !isCancelled
    }
  }
}
