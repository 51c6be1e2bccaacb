// What the entries of a segment have in common, kept once instead of in each of them.

/// Bytes that the entries of a segment are compressed against: a compressed entry refers to them as if they
/// stood before it.
package final class EntryDictionary: Sendable {
  package static let bytesMax = 32 << 10

  package let bytes: [UInt8]
  /// Of `bytes`; with their count it tells dictionaries on disk apart.
  let checksum: UInt32

  package init(_ bytes: [UInt8]) {
    precondition(bytes.count <= Self.bytesMax, "a dictionary has at most 32 KiB")
    self.bytes = bytes
    var checksum = Checksum()
    checksum.update(bytes.rawSpan)
    self.checksum = checksum.value
  }
}

/// Makes a dictionary of an even sample of the entries that are to be compressed: some of them, whole, one
/// after the other. That is as good as a trained dictionary, because LZ4 only looks for repeated bytes.
///
///     var sampler = DictionarySampler(rawBytesTotal: total)
///     for entry in entries { sampler.offer(entry) }
///     let dictionary = sampler.dictionary()
struct DictionarySampler {
  /// A long entry gives its beginning only, so that no single one is all of the dictionary.
  static let entryBytesMax = 4 << 10

  private let rawBytesTotal: Int
  private let bytesMax: Int
  private var rawBytesOffered = 0
  private var bytes: [UInt8] = []

  /// `rawBytesTotal` is the size of all entries that will be offered. If it is wrong, the sample is uneven.
  init(rawBytesTotal: Int, bytesMax: Int = EntryDictionary.bytesMax) {
    precondition((0...EntryDictionary.bytesMax).contains(bytesMax), "a dictionary has at most 32 KiB")
    self.rawBytesTotal = rawBytesTotal
    self.bytesMax = bytesMax
    bytes.reserveCapacity(min(bytesMax, max(0, rawBytesTotal)))
  }

  mutating func offer(_ raw: RawSpan) {
    if isBehind {
      let count = min(raw.byteCount, Self.entryBytesMax, bytesMax - bytes.count)
      unsafe raw.extracting(first: count).withUnsafeBytes { unsafe bytes.append(contentsOf: $0) }
    }
    rawBytesOffered += raw.byteCount
  }

  /// Whether the part of the dictionary that is full is no more than the part of the entries that is through.
  private var isBehind: Bool {
    Double(bytes.count) * Double(rawBytesTotal) <= Double(rawBytesOffered) * Double(bytesMax)
  }

  consuming func dictionary() -> EntryDictionary { EntryDictionary(bytes) }
}
