// The shared compression dictionary of a segment's entries.

/// The bytes that precede each entry of a segment during compression, as LZ4 sees it, so that entries can
/// refer to them.
package final class EntryDictionary: Sendable {
  package static let bytesMax = 32 << 10

  package let bytes: [UInt8]
  /// The checksum of `bytes`. The checksum and the number of bytes together identify a dictionary on disk.
  let checksum: UInt32

  package init(_ bytes: [UInt8]) {
    precondition(bytes.count <= Self.bytesMax, "a dictionary has at most 32 KiB")
    self.bytes = bytes
    var checksum = Checksum()
    checksum.update(bytes.rawSpan)
    self.checksum = checksum.value
  }
}

/// Builds a dictionary from an even sample of the entries to be compressed: whole entries, one after the
/// other. This works as well as a trained dictionary, because LZ4 only looks for repeated bytes.
///
///     var sampler = DictionarySampler(rawBytesTotal: total)
///     for entry in entries { sampler.offer(entry) }
///     let dictionary = sampler.dictionary()
struct DictionarySampler {
  /// The number of bytes of one entry that the dictionary contains at most. The rest of a longer entry is
  /// left out, so that no single entry fills the dictionary.
  static let entryBytesMax = 4 << 10

  private let rawBytesTotal: Int
  private let bytesMax: Int
  private var rawBytesOffered = 0
  private var bytes: [UInt8] = []

  /// Starts a sample of entries whose total size is `rawBytesTotal`. If the total is wrong, the sample is
  /// uneven.
  init(rawBytesTotal: Int, bytesMax: Int = EntryDictionary.bytesMax) {
    precondition((0...EntryDictionary.bytesMax).contains(bytesMax), "a dictionary has at most 32 KiB")
    self.rawBytesTotal = rawBytesTotal
    self.bytesMax = bytesMax
    bytes.reserveCapacity(min(bytesMax, max(0, rawBytesTotal)))
  }

  mutating func offer(_ raw: RawSpan) {
    if isSampleDue {
      let count = min(raw.byteCount, Self.entryBytesMax, bytesMax - bytes.count)
      unsafe raw.extracting(first: count).withUnsafeBytes { unsafe bytes.append(contentsOf: $0) }
    }
    rawBytesOffered += raw.byteCount
  }

  /// Whether the next entry belongs to the sample: the dictionary has not been filled faster than entries
  /// have been offered.
  private var isSampleDue: Bool {
    Double(bytes.count) * Double(rawBytesTotal) <= Double(rawBytesOffered) * Double(bytesMax)
  }

  consuming func dictionary() -> EntryDictionary { EntryDictionary(bytes) }
}
