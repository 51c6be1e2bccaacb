// Decides when a flush is due and which segments are compacted.
//
// Invariant: after a flush, the segments take at most `spaceMax` times their live bytes, plus some slack. The
// segments with the highest garbage ratio are compacted first. Compacting a segment with the live fraction u
// writes u/(1-u) bytes for each byte that it frees. While less than 1/1.5 of all data is live, some segment
// has u < 0.67. The bytes of a put are therefore written to segments at most three times, and once to the
// log.

enum FlushPlan {
  /// A flush writes the whole checkpoint, however little has changed.
  private static let logBytesPerCheckpoint: UInt64 = 2
  private static let flushBytesFactorMax: UInt64 = 4

  /// Returns the amount of log that starts a flush. It is half of the checkpoint's size, so that the
  /// checkpoint costs two bytes per byte of log. It is limited to a few times `flushBytes`, because an open
  /// replays the whole log.
  static func logBytes(flushBytes: UInt64, checkpointBytes: UInt64) -> UInt64 {
    max(flushBytes, min(checkpointBytes / logBytesPerCheckpoint, flushBytesFactorMax * flushBytes))
  }

  /// The upper limit for the ratio of data bytes to live bytes.
  static let spaceMax = 1.5
  /// The amount of dead bytes that is tolerated beyond that ratio.
  static let slackBytes: UInt64 = 16 << 20
  /// A segment with a smaller live fraction is always compacted.
  private static let liveFractionMin = 0.5
  /// The number of small segments above which small segments are merged.
  private static let smallSegmentsMax = 8

  struct Segment: Equatable {
    package var slot: Int
    var dataBytes: UInt64
    var liveBytes: UInt64

    var liveFraction: Double { dataBytes == 0 ? 0 : Double(liveBytes) / Double(dataBytes) }
  }

  /// Returns the slots of the segments to compact, least live fraction first. The segments have at most
  /// `budgetBytes` live bytes in total, but at least one segment is always compacted.
  static func compactionInputs(
    of segments: [Segment], segmentBytesMax: Int, budgetBytes: UInt64
  ) -> [Int] {
    var data = segments.reduce(0) { $0 + $1.dataBytes }
    let live = segments.reduce(0) { $0 + $1.liveBytes }
    var compactionInputs: [Segment] = []
    var cost: UInt64 = 0
    func isSmall(_ segment: Segment) -> Bool { segment.dataBytes < UInt64(segmentBytesMax) / 4 }
    func take(_ segment: Segment) -> Bool {
      guard cost == 0 || cost + segment.liveBytes <= budgetBytes else { return false }
      compactionInputs.append(segment)
      cost += segment.liveBytes
      data -= segment.dataBytes - min(segment.liveBytes, segment.dataBytes)
      return true
    }
    let sorted = segments.sorted { ($0.liveFraction, $0.slot) < ($1.liveFraction, $1.slot) }
    for segment in sorted {
      let exceedsSpaceLimit = Double(data) > spaceMax * Double(live) + Double(slackBytes)
      // The last page of a small segment is a large part of the segment and may be almost empty.
      let isMostlyDead = segment.liveFraction < liveFractionMin && !isSmall(segment)
      guard segment.liveBytes == 0 || isMostlyDead || exceedsSpaceLimit else { continue }
      guard take(segment) else { break }
    }
    let small = sorted.filter { isSmall($0) && !compactionInputs.contains($0) }
    guard small.count > smallSegmentsMax else { return compactionInputs.map(\.slot) }
    for segment in small.sorted(by: { ($0.liveBytes, $0.slot) < ($1.liveBytes, $1.slot) }) {
      guard take(segment) else { break }
    }
    return compactionInputs.map(\.slot)
  }
}
