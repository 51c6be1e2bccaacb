// Compression of single entries: round trips, and hostile input.

import Harness
import Testing

@testable import ByteStore

@Suite struct EntryCompressionTests {
  // MARK: Round trips

  @Test(arguments: [0, 1, 3, 4, 100, 5000, EntryDictionary.bytesMax])
  func entriesRoundTrip(dictionaryBytes: Int) {
    var rng = SeededRandom(seed: UInt64(dictionaryBytes))
    let dictionary = EntryDictionary(Array(documents(40_000, &rng).prefix(dictionaryBytes)))
    let compressor = TestCompressor(dictionary)
    let buffer = TestBuffer()
    var wrong: [String] = []
    for entry in 0..<300 {
      let raw = anyEntry(&rng)
      let stored = compressor.compressed(raw)
      guard let stored else { continue }
      if stored.count >= raw.count { wrong.append("entry \(entry): \(raw.count) bytes in \(stored.count)") }
      if buffer.decompressed(stored, raw.count, dictionary) != raw { wrong.append("entry \(entry): \(raw)") }
    }
    #expect(wrong == [])
  }

  /// Alternates between the dictionaries of several segments. In some cases there are more dictionaries than
  /// the buffer has blocks for.
  @Test(arguments: [2, 8, 9, 20])
  func entriesOfSeveralDictionariesRoundTrip(count: Int) {
    var rng = SeededRandom(seed: UInt64(count))
    let dictionaries = (0..<count).map { _ in EntryDictionary(documents(10_000, &rng)) }
    let compressors = dictionaries.map { TestCompressor($0) }
    let buffer = TestBuffer()
    var wrong: [[UInt8]] = []
    for _ in 0..<600 {
      let place = rng.below(count)
      let raw = anyEntry(&rng)
      guard let stored = compressors[place].compressed(raw) else { continue }
      // Includes repeated reads, because only they copy a dictionary into a block.
      for _ in 0..<(1 + rng.below(3)) {
        if buffer.decompressed(stored, raw.count, dictionaries[place]) != raw { wrong.append(raw) }
      }
    }
    #expect(wrong == [])
  }

  @Test func largeEntryRoundTrips() throws {
    var rng = SeededRandom(seed: 1)
    let raw = documents(1 << 20, &rng)
    let dictionary = EntryDictionary(documents(20_000, &rng))
    let compressor = TestCompressor(dictionary)
    let stored = try #require(compressor.compressed(raw))
    let buffer = TestBuffer()
    #expect(buffer.decompressed(stored, raw.count, dictionary) == raw)
  }

  @Test func dictionaryReducesTheSizeOfSimilarEntries() throws {
    var rng = SeededRandom(seed: 2)
    let dictionary = EntryDictionary(documents(16 << 10, &rng))
    let with = TestCompressor(dictionary)
    let without = TestCompressor(EntryDictionary([]))
    let raw = document(&rng)
    let stored = try #require(with.compressed(raw))
    #expect(2 * stored.count < (without.compressed(raw) ?? raw).count)
  }

  @Test func incompressibleEntryIsNotCompressed() {
    var rng = SeededRandom(seed: 3)
    let compressor = TestCompressor(EntryDictionary(documents(1000, &rng)))
    var wrong: [String] = []
    for count in [0, 1, 2, 12, 300, 100_000] {
      var bytes: [UInt8] = [7, 8]
      let raw = noise(count, &rng)
      if compressor.compress(raw, into: &bytes) { wrong.append("\(count) bytes were compressed") }
      if bytes != [7, 8] { wrong.append("\(count) bytes: appended \(bytes.count - 2)") }
    }
    #expect(wrong == [])
  }

  @Test func compressedBytesAreAppendedToTheBuffer() throws {
    var rng = SeededRandom(seed: 4)
    let compressor = TestCompressor(EntryDictionary([]))
    let raw = documents(3000, &rng)
    let stored = try #require(compressor.compressed(raw))
    var bytes: [UInt8] = [7, 8]
    #expect(compressor.compress(raw, into: &bytes))
    #expect(bytes == [7, 8] + stored)
  }

  /// An entry must not depend on the entry that was compressed before it, nor on an entry that could not be
  /// compressed.
  @Test func entriesDoNotDependOnEachOther() {
    var rng = SeededRandom(seed: 5)
    let dictionary = EntryDictionary(documents(10_000, &rng))
    let compressor = TestCompressor(dictionary)
    let raw = document(&rng)
    let alone = compressor.compressed(raw)
    let later = (0..<20).map { _ in
      _ = compressor.compressed(anyEntry(&rng))
      return compressor.compressed(raw)
    }
    #expect(later == Array(repeating: alone, count: 20))
  }

  @Test func anEntryLongerThanAReadAcceptsIsNotCompressed() {
    let compressor = TestCompressor(EntryDictionary([]))
    #expect(compressor.compressed([UInt8](repeating: 0, count: ReadBuffer.rawBytesMax)) != nil)
    #expect(compressor.compressed([UInt8](repeating: 0, count: ReadBuffer.rawBytesMax + 1)) == nil)
  }

  // MARK: The buffer

  @Test func uncompressedBytesRoundTrip() {
    var rng = SeededRandom(seed: 6)
    let buffer = TestBuffer()
    #expect(buffer.bytes == [])
    let wrongCounts = [0, 1, 5000, 70_000, 3].filter { count in
      let raw = noise(count, &rng)
      buffer.fill(with: raw)
      return buffer.bytes != raw
    }
    #expect(wrongCounts == [])
  }

  /// The buffer grows in between and must keep the dictionary.
  @Test func dictionariesMayAlternate() throws {
    var rng = SeededRandom(seed: 7)
    let dictionaries = [0, 50, 9000, 32 << 10, 32 << 10].map { EntryDictionary(documents($0, &rng)) }
    let buffer = TestBuffer()
    var wrongRounds: [Int] = []
    for round in 0..<200 {
      let dictionary = dictionaries[Int.random(in: 0..<dictionaries.count, using: &rng)]
      let compressor = TestCompressor(dictionary)
      for _ in 0..<2 {
        let raw = documents(Int.random(in: 600...600 + 100 * round, using: &rng), &rng)
        let stored = try #require(compressor.compressed(raw))
        if round % 5 == 0 { buffer.fill(with: raw) }
        if buffer.decompressed(stored, raw.count, dictionary) != raw { wrongRounds.append(round) }
      }
    }
    #expect(wrongRounds == [])
  }

  @Test func failedDecompressionLeavesAnEmptyBuffer() {
    let buffer = TestBuffer()
    buffer.fill(with: [1, 2, 3])
    let dictionary = EntryDictionary([])
    #expect(buffer.decompressed([0xFF, 0xFF], 3, dictionary) == nil)
    #expect(buffer.bytes == [])
  }

  // MARK: Hostile input

  /// Damage must not cause access outside the buffer, which the address sanitizer detects, nor yield an
  /// entry of another size.
  @Test(arguments: [0, 40, 20_000])
  func damagedBytesDecodeToTheRightSizeOrNotAtAll(dictionaryBytes: Int) throws {
    var rng = SeededRandom(seed: 8)
    let dictionary = EntryDictionary(documents(dictionaryBytes, &rng))
    let compressor = TestCompressor(dictionary)
    let buffer = TestBuffer()
    var wrong: [String] = []
    for raw in [documents(500, &rng), documents(1500, &rng), [UInt8](repeating: 1, count: 5000)] {
      let stored = try #require(compressor.compressed(raw))
      for count in 0..<stored.count
      where !buffer.hasSizeOrNothing(Array(stored[..<count]), raw.count, dictionary) {
        wrong.append("\(raw.count) bytes, \(count) of \(stored.count) compressed bytes")
      }
      for bit in 0..<8 * stored.count {
        var damaged = stored
        damaged[bit / 8] ^= 1 << (bit % 8)
        if !buffer.hasSizeOrNothing(damaged, raw.count, dictionary) {
          wrong.append("\(raw.count) bytes, changed bit \(bit)")
        }
      }
      for rawBytes in [0, 1, raw.count - 1, raw.count + 1, 2 * raw.count]
      where buffer.decompressed(stored, rawBytes, dictionary) != nil {
        wrong.append("\(raw.count) bytes decoded as \(rawBytes)")
      }
    }
    #expect(wrong == [])
  }

  @Test func bytesThatWereNeverCompressedDecodeToTheRightSizeOrNotAtAll() {
    var rng = SeededRandom(seed: 9)
    let dictionary = EntryDictionary(documents(1000, &rng))
    let buffer = TestBuffer()
    var wrong: [String] = []
    for _ in 0..<20_000 {
      let stored = noise(Int.random(in: 0...40, using: &rng), &rng)
      let rawBytes = Int.random(in: 0...400, using: &rng)
      if !buffer.hasSizeOrNothing(stored, rawBytes, dictionary) {
        wrong.append("\(stored) decoded as \(rawBytes) bytes")
      }
    }
    #expect(wrong == [])
  }

  @Test func wrongDictionaryYieldsTheRightSizeOrFails() throws {
    var rng = SeededRandom(seed: 10)
    let right = EntryDictionary(documents(32 << 10, &rng))
    let compressor = TestCompressor(right)
    let buffer = TestBuffer()
    var failures: [String] = []
    for count in [0, 1, 3000, 32 << 10] {
      let wrong = EntryDictionary(noise(count, &rng))
      for _ in 0..<50 {
        let raw = document(&rng)
        let stored = try #require(compressor.compressed(raw))
        if !buffer.hasSizeOrNothing(stored, raw.count, wrong) { failures.append("\(count): wrong size") }
        if buffer.bytes == raw { failures.append("\(count): decoded") }
      }
    }
    #expect(failures == [])
  }

  @Test func impossibleEntrySizesAreRefused() {
    let buffer = TestBuffer()
    let dictionary = EntryDictionary([])
    let sizes: [Int] = [-1, .min, ReadBuffer.rawBytesMax + 1, .max]
    #expect(sizes.filter { buffer.decompressed([0], $0, dictionary) != nil } == [])
  }

  // MARK: Dictionaries

  @Test func dictionarySampleIsSpreadEvenlyOverTheEntries() {
    // Entry n consists of 100 bytes with the value n / 40, so a dictionary shows where its entries come
    // from.
    let entries = (0..<4000).map { [UInt8](repeating: UInt8($0 / 40), count: 100) }
    var sampler = DictionarySampler(rawBytesTotal: 400_000, bytesMax: 20_000)
    for entry in entries { sampler.offer(entry.rawSpan) }
    let bytes = sampler.dictionary().bytes
    #expect(bytes.count == 20_000)
    let counts = (0..<100 as Range<UInt8>).map { part in bytes.count { $0 == part } }
    #expect(counts.allSatisfy { (100...300).contains($0) }, "\(counts)")
  }

  @Test func sampleOfASmallInputIsComplete() {
    var sampler = DictionarySampler(rawBytesTotal: 6)
    for entry: [UInt8] in [[1, 2, 3], [], [4, 5], [6]] { sampler.offer(entry.rawSpan) }
    #expect(sampler.dictionary().bytes == [1, 2, 3, 4, 5, 6])
  }

  /// Covers totals that are too small or too large, and entries of all sizes.
  @Test func aSampleIsNeverTooLarge() {
    var rng = SeededRandom(seed: 11)
    let totals: [Int] = [-5, 0, 1, 10_000, 10_000_000, .max]
    let tooLarge = totals.filter { total in
      var sampler = DictionarySampler(rawBytesTotal: total)
      for _ in 0..<200 {
        sampler.offer([UInt8](repeating: 1, count: .random(in: 0...20_000, using: &rng)).rawSpan)
      }
      return sampler.dictionary().bytes.count > EntryDictionary.bytesMax
    }
    #expect(tooLarge == [])
  }

  @Test func longEntryDoesNotFillTheSample() {
    var sampler = DictionarySampler(rawBytesTotal: 1_001_000)
    sampler.offer([UInt8](repeating: 1, count: 1_000_000).rawSpan)
    sampler.offer([UInt8](repeating: 2, count: 1000).rawSpan)
    let bytes = sampler.dictionary().bytes
    #expect(bytes.count { $0 == 1 } == DictionarySampler.entryBytesMax)
    #expect(bytes.count { $0 == 2 } == 1000)
  }

  @Test func dictionaryChecksumCoversItsBytes() {
    #expect(EntryDictionary(Array("123456789".utf8)).checksum == 0xE306_9283)
  }
}

// MARK: Entries

/// A typical application document: the field names are constant, the values are not.
private func document(_ rng: inout SeededRandom) -> [UInt8] {
  let names = ["Ada", "Grace", "Edsger", "Barbara", "Donald", "Frances", "Tony", "Leslie"]
  let name = names[Int.random(in: 0..<names.count, using: &rng)]
  let number = Int.random(in: 0..<1_000_000, using: &rng)
  let key = String(UInt64.random(in: 0...UInt64.max, using: &rng), radix: 36)
  let text = """
    {"id":"\(key)","name":"\(name) \(number)","email":"\(name.lowercased()).\(number)@example.com",\
    "createdAt":"2024-0\(number % 9 + 1)-1\(number % 10)T0\(number % 7):00:00Z","isActive":true,\
    "tags":["\(names[number % 8])","\(names[number / 8 % 8])"],"loginCount":\(number % 500)}
    """
  return Array(text.utf8)
}

private func documents(_ count: Int, _ rng: inout SeededRandom) -> [UInt8] {
  var bytes: [UInt8] = []
  while bytes.count < count { bytes += document(&rng) }
  return Array(bytes.prefix(count))
}

private func noise(_ count: Int, _ rng: inout SeededRandom) -> [UInt8] {
  (0..<count).map { _ in UInt8.random(in: 0...255, using: &rng) }
}

private func anyEntry(_ rng: inout SeededRandom) -> [UInt8] {
  let count = Int.random(in: 0...3000, using: &rng)
  return switch Int.random(in: 0..<4, using: &rng) {
  case 0: noise(count, &rng)
  case 1: [UInt8](repeating: UInt8(count & 0xFF), count: count)
  case 2: documents(count, &rng)
  default: document(&rng)
  }
}

// MARK: Calls
// Classes, because `#expect` copies the values that it evaluates, and a compressor and a buffer are not
// copyable.

private final class TestCompressor {
  private var compressor: EntryCompressor

  init(_ dictionary: EntryDictionary) { compressor = EntryCompressor(dictionary) }

  func compress(_ raw: [UInt8], into bytes: inout [UInt8]) -> Bool {
    compressor.compress(raw.rawSpan, into: &bytes)
  }

  func compressed(_ raw: [UInt8]) -> [UInt8]? {
    var bytes: [UInt8] = []
    return compress(raw, into: &bytes) ? bytes : nil
  }
}

private final class TestBuffer {
  private var buffer = ReadBuffer()

  var bytes: [UInt8] { buffer.copy }

  func fill(with bytes: [UInt8]) { buffer.fill(with: bytes.rawSpan) }

  /// Reads from memory of exactly the size of `stored`, so that a read beyond its end is detected.
  func decompressed(_ stored: [UInt8], _ rawBytes: Int, _ dictionary: EntryDictionary) -> [UInt8]? {
    let memory = UnsafeMutableRawBufferPointer.allocate(byteCount: stored.count, alignment: 1)
    defer { memory.deallocate() }
    memory.copyBytes(from: stored)
    let span = RawSpan(_unsafeBytes: UnsafeRawBufferPointer(memory))
    return buffer.decompress(span, rawBytes: rawBytes, against: dictionary) ? bytes : nil
  }

  /// Decodes an entry. Returns whether the buffer holds `rawBytes` bytes, or is empty because it failed.
  func hasSizeOrNothing(_ stored: [UInt8], _ rawBytes: Int, _ dictionary: EntryDictionary) -> Bool {
    let decoded = decompressed(stored, rawBytes, dictionary)
    return (decoded == nil || decoded?.count == rawBytes) && bytes == decoded ?? []
  }
}

extension ReadBuffer {
  fileprivate var copy: [UInt8] { Array(copying: bytes) }
}
