// Any bytes from a client of HTTP/2: no trap, bounded memory, and calls of handlers in order.

#if Server
import HTTPTransport

/// Passes an input to sessions in one piece, and in many. Pieces of one turn of the loop must not change the
/// calls of handlers. Between turns, answers leave, which may change what the rest of the input means.
package struct FramesTarget: FuzzTarget {
  package static let name = "frames"

  /// Memory that a session may request for an input, and for each byte of it.
  private static let bytesMax = 4 * 1024 * 1024
  private static let bytesPerByteMax = 512

  private var random: SeededRandom

  package init(seed: UInt64) { random = SeededRandom(seed: seed) }

  package var seeds: [[UInt8]] { FrameSeeds.all }

  package mutating func run(_ input: [UInt8]) throws(FuzzFinding) -> String {
    var whole: Result<FrameSession, FuzzFinding> = .failure(FuzzFinding("not run"))
    let taken = AllocatedBytes.during {
      whole = Result { () throws(FuzzFinding) in try Self.session(input, [], endsTurns: false) }
    }
    let first = try whole.get()
    guard (taken ?? 0) <= Self.bytesMax + Self.bytesPerByteMax * input.count else {
      throw FuzzFinding("\(input.count) bytes took \(taken ?? 0) bytes of memory")
    }
    let cuts = cuts(of: input)
    let second = try Self.session(input, cuts, endsTurns: false)
    guard
      first.hasFinished || second.hasFinished || first.error != nil || second.error != nil
        || first.recorder.records == second.recorder.records
    else {
      throw FuzzFinding("the cuts of the input change the calls of handlers")
    }
    return Self.outcome(try Self.session(input, cuts, endsTurns: true))
  }

  package mutating func variant(
    of input: [UInt8], other: [UInt8], _ random: inout SeededRandom
  ) -> [UInt8]? {
    FrameSeeds.variant(of: input, other: other, &random)
  }

  private mutating func cuts(of input: [UInt8]) -> [Int] {
    guard input.count > 1 else { return [] }
    return (0..<1 + random.below(8)).map { _ in 1 + random.below(input.count - 1) }.sorted()
  }

  private static func session(
    _ input: [UInt8], _ cuts: [Int], endsTurns: Bool
  ) throws(FuzzFinding) -> FrameSession {
    let session: FrameSession
    do throws(SessionError) { session = try FrameSession() } catch {
      throw FuzzFinding("no session: \(error)")
    }
    var start = 0
    for cut in cuts + [input.count] {
      session.receive(input[start..<cut], endsTurn: endsTurns)
      start = cut
    }
    session.turn()
    try checkOutput(of: session)
    session.session.close()
    guard session.session.openRequests == 0 else { throw FuzzFinding("requests are open after the end") }
    for (index, record) in session.recorder.records.enumerated() {
      if let violation = record.violation { throw FuzzFinding("request \(index): \(violation)") }
      guard record.isFinished || record.isCancelled else { throw FuzzFinding("request \(index) never ends") }
    }
    return session
  }

  private static func checkOutput(of session: FrameSession) throws(FuzzFinding) {
    guard let frames = session.frames else { throw FuzzFinding("the output is not a list of frames") }
    guard frames.count < 10_000 else { throw FuzzFinding("\(frames.count) frames in answer") }
  }

  private static func outcome(_ session: FrameSession) -> String {
    let records = session.recorder.records
    let kinds = Set((session.frames ?? []).map(\.kind)).sorted()
    let ends = Set(records.map { "\($0.isFinished ? "f" : "")\($0.isCancelled ? "c" : "")" }).sorted()
    let error = session.error.map { "\($0.refusal)" } ?? "open"
    return
      "\(error) \(min(records.count, 3)) \(ends) \(kinds) \(Set(session.refusals.refusals.map(\.rawValue)).sorted())"
  }
}
#endif
