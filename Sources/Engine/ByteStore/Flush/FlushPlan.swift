// When a flush is worth while, and which segments it writes anew, so that the space of what is dead in them comes back.
//
// Law: after a flush the segments have at most `spaceMax` times the bytes that live in them, and some slack.
// The emptiest segments go first: to gain one byte, a segment of which the part u is alive costs u/(1-u)
// bytes of writing. While less than 1/1.5 of the whole is alive, some segment has u < 0.67, so that the
// bytes of a put are written three times or less, and the log's.

enum FlushPlan {
  /// A flush writes all of the checkpoint, however little has changed.
  private static let checkpointPart: UInt64 = 2
  private static let flushesAtOnceMax: UInt64 = 4

  /// How many bytes of log start a flush: half of what it writes for the checkpoint, so that this costs two bytes for
  /// each of the log. No more than a few times `flushBytes`, for an open replays all of them.
  static func logBytes(flushBytes: UInt64, checkpointBytes: UInt64) -> UInt64 {
    max(flushBytes, min(checkpointBytes / checkpointPart, flushesAtOnceMax * flushBytes))
  }

  /// Of all data bytes, in proportion to those alive.
  static let spaceMax = 1.5
  /// Dead bytes that are left alone.
  static let slackBytes: UInt64 = 16 << 20
  /// So much of a segment may be dead before it is worth while for its own sake.
  private static let livePartMin = 0.5
  /// More small segments than this are put together.
  private static let smallSegmentsMax = 8

  struct Segment: Equatable {
    package var slot: Int
    var dataBytes: UInt64
    var liveBytes: UInt64

    var livePart: Double { dataBytes == 0 ? 0 : Double(liveBytes) / Double(dataBytes) }
  }

  /// The slots to write anew, emptiest first; at most `budgetBytes` of live bytes, but one segment if any.
  static func victims(
    of segments: [Segment], segmentBytesMax: Int, budgetBytes: UInt64
  ) -> [Int] {
    var data = segments.reduce(0) { $0 + $1.dataBytes }
    let live = segments.reduce(0) { $0 + $1.liveBytes }
    var victims: [Segment] = []
    var cost: UInt64 = 0
    func isSmall(_ segment: Segment) -> Bool { segment.dataBytes < UInt64(segmentBytesMax) / 4 }
    func take(_ segment: Segment) -> Bool {
      guard cost == 0 || cost + segment.liveBytes <= budgetBytes else { return false }
      victims.append(segment)
      cost += segment.liveBytes
      data -= segment.dataBytes - min(segment.liveBytes, segment.dataBytes)
      return true
    }
    let sorted = segments.sorted { ($0.livePart, $0.slot) < ($1.livePart, $1.slot) }
    for segment in sorted {
      let isTooMuch = Double(data) > spaceMax * Double(live) + Double(slackBytes)
      // The last page of a small one is a large part of it, and may be almost empty.
      let isMostlyDead = segment.livePart < livePartMin && !isSmall(segment)
      guard segment.liveBytes == 0 || isMostlyDead || isTooMuch else { continue }
      guard take(segment) else { break }
    }
    let small = sorted.filter { isSmall($0) && !victims.contains($0) }
    guard small.count > smallSegmentsMax else { return victims.map(\.slot) }
    for segment in small.sorted(by: { ($0.liveBytes, $0.slot) < ($1.liveBytes, $1.slot) }) {
      guard take(segment) else { break }
    }
    return victims.map(\.slot)
  }
}
