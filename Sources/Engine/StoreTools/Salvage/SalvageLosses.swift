// The data that a salvage does not carry over to the new store, by name where the name is known.
//
// The upper layer keeps the keys of its entries in the checkpoint, each with the ordinal of the entry. A
// key is lost if no readable entry has its ordinal, no later commit wrote it again, and no later commit
// deleted it.

package import ByteStore

/// Data that is not in the new store, or whose value may be outdated.
package enum SalvageLoss: Sendable, Equatable {
  /// The key of an entry whose value no readable file has.
  case entry(key: [UInt8])
  /// The name of an entry that the upper layer cannot decode.
  case undecodable(name: String)
  /// The key of an entry that was perhaps replaced or deleted later.
  case possiblyOlder(key: [UInt8])
  /// Keys on pages that cannot be read. Some of their entries may be lost.
  case unreadableKeys(UnreadableKeys)
}

/// Keys on pages of a checkpoint that cannot be read.
package struct UnreadableKeys: Sendable, Equatable {
  /// The group of all these keys, such as a collection; nil if it is unknown, or if there are several.
  package var group: String?
  /// The number of keys; nil if it is unknown.
  package var count: Int?

  package init(group: String?, count: Int?) {
    self.group = group
    self.count = count
  }
}

/// The pages of a checkpoint that may be damaged, as the upper layer reads them.
package struct SalvagePages {
  /// The number of pages of a region; 0 if the checkpoint does not have the region.
  package let count: (CheckpointRegion) -> Int
  /// The payload of a page; nil if the page is damaged.
  package let payload: (CheckpointRegion, _ page: Int) -> [UInt8]?
}

/// Receives what a salvage loses. A thrown error ends the salvage before a file of the store is changed.
package struct SalvageObserver {
  package var lost: (SalvageLoss) throws(ByteStoreError) -> Void
  /// Called after all losses, and before the first change of a file of the store. The remains of an earlier
  /// salvage may be cleared before.
  package var gathered: (SalvageReport) throws(ByteStoreError) -> Void

  package init(
    lost: @escaping (SalvageLoss) throws(ByteStoreError) -> Void,
    gathered: @escaping (SalvageReport) throws(ByteStoreError) -> Void
  ) {
    self.lost = lost
    self.gathered = gathered
  }
}

/// The ordinals of a checkpoint for which a readable entry was found: a bit each, in pages on demand.
struct FoundOrdinals {
  private static let wordsPerPage = 64

  private var pages: [UInt32: [UInt64]] = [:]

  mutating func insert(_ ordinal: UInt32) {
    let (page, word, bit) = Self.place(ordinal)
    pages[page, default: Array(repeating: 0, count: Self.wordsPerPage)][word] |= bit
  }

  func contains(_ ordinal: UInt32) -> Bool {
    let (page, word, bit) = Self.place(ordinal)
    return pages[page].map { $0[word] & bit != 0 } ?? false
  }

  private static func place(_ ordinal: UInt32) -> (page: UInt32, word: Int, bit: UInt64) {
    (ordinal >> 12, Int(ordinal >> 6 & 63), 1 << UInt64(ordinal & 63))
  }
}

extension CheckpointJudge {
  var pages: SalvagePages {
    SalvagePages(
      // A header that is damaged may claim any number of pages.
      count: { region in
        min(
          source.header.pages(of: region),
          Int(clamping: source.file.size / UInt64(CheckpointFormat.pageBytes)))
      },
      payload: { region, page in (try? source.payload(region, page: page)) ?? nil })
  }
}

extension SalvageKeyDirectory {
  private static let keysAtOnce = 1000

  /// Passes all lost entries to the observer, and counts them. Call this after `finish()`.
  mutating func reportLosses(_ layer: any EntryJudge) throws(ByteStoreError) {
    guard let observer else { return }
    if let judge { try reportLostKeys(judge.pages, layer, to: observer) }
    // Without a checkpoint, every value may be older, so that a list would name the whole store.
    if report.checkpoint == .partial, report.keysPossiblyStale > 0 {
      try forEachUnprovenKey { key throws(ByteStoreError) in try observer.lost(.possiblyOlder(key: key)) }
    }
    try observer.gathered(report)
  }

  private mutating func reportLostKeys(
    _ pages: SalvagePages, _ layer: any EntryJudge, to observer: SalvageObserver
  ) throws(ByteStoreError) {
    var (missing, lost) = (0, 0)
    var candidates: [[UInt8]] = []
    let unreadable = try layer.forEachKey(in: pages) { key, ordinal throws(ByteStoreError) in
      guard !found.contains(ordinal) else { return }
      missing += 1
      guard !deleted.contains(key) else { return }
      candidates.append(key)
      guard candidates.count >= Self.keysAtOnce else { return }
      lost += try reportMissing(candidates, to: observer)
      candidates = []
    }
    lost += try reportMissing(candidates, to: observer)
    guard let all = report.entriesLost else {
      for keys in unreadable { try observer.lost(.unreadableKeys(keys)) }
      return
    }
    // Entries that the checkpoint counts and the upper layer does not name.
    let unnamed = max(0, all - missing - restoredCount)
    report.entriesLost = lost + unnamed
    report.entriesUnnamed = unnamed
    if unnamed > 0 { for keys in unreadable { try observer.lost(.unreadableKeys(keys)) } }
  }

  /// Reports the keys that no later commit wrote again. Returns their number.
  private func reportMissing(
    _ keys: [[UInt8]], to observer: SalvageObserver
  ) throws(ByteStoreError) -> Int {
    let missing = try missing(keys)
    for key in missing { try observer.lost(.entry(key: key)) }
    return missing.count
  }
}
