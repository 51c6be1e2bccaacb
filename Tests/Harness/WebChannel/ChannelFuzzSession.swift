// A session of WebChannel as the fuzzer's client sees it, with the rules that hold for any requests.

import FirestoreWire

/// A session, with its arrays and the state that the server must have.
final class ChannelFuzzSession {
  private enum Mode { case stream, poll }

  let id: String
  let isListen: Bool
  /// The arrays that have arrived, by their numbers.
  private var arrays: [Int: ChannelArray] = [:]
  private(set) var last = 0
  /// The highest number that an accepted request has acknowledged.
  private var acknowledged = 0
  private var back: ChannelFuzzConnection?
  private var mode = Mode.stream
  private var reader = ChannelFrameReader()
  private var readCount = 0
  private var expected = 0
  /// The array that says that the call has ended.
  private(set) var endNumber: Int?
  /// Whether the session must be unknown from now on.
  private(set) var isOver = false
  /// Whether a request whose meaning the fuzzer does not know may have concerned the session.
  var isUncertain = false
  private(set) var token = ""
  /// The time since which the session has had no back channel.
  private var absentSince: UInt64

  private var hasHadBack = false

  private static let absentSeconds: UInt64 = 61
  private static let unusedSeconds: UInt64 = 10

  init(_ id: String, isListen: Bool, now: UInt64) {
    self.id = id
    self.isListen = isListen
    absentSince = now
  }

  var path: String { "/google.firestore.v1.Firestore/\(isListen ? "Listen" : "Write")/channel" }

  var openBack: ChannelFuzzConnection? { back.flatMap { $0.isOver ? nil : $0 } }

  /// The number that a request acknowledges.
  func acknowledgement(isLate: Bool) -> Int { isLate ? acknowledged : last }

  // MARK: Answers

  /// Checks the answer to a forward request that had an open back channel before.
  func noteForward(
    _ answer: ChannelFuzzConnection, hadBack: ChannelFuzzConnection?, acknowledges number: Int
  ) throws(FuzzFinding) {
    guard answer.hasEnded, let status = answer.status else {
      throw FuzzFinding("a forward request has no answer")
    }
    if isOver, !isUncertain, status != 400 { throw FuzzFinding("a session that is over answers \(status)") }
    guard status == 200 else { return }
    acknowledged = max(acknowledged, number)
    var reader = ChannelFrameReader()
    do {
      let frames = try reader.take(answer.body)
      guard frames.count == 1, !reader.isWithinFrame else {
        throw Violation("there are \(frames.count) frames")
      }
      let (hasBack, lastID, _) = try ChannelArray.status(in: frames[0])
      guard isUncertain || lastID >= last else {
        throw Violation("\(lastID) arrays were sent, and \(last) arrived")
      }
      guard !hasBack || hadBack != nil || isUncertain else { throw Violation("there is no back channel") }
      guard hasBack || hadBack == nil || openBack == nil || isUncertain else {
        throw Violation("there is a back channel")
      }
    } catch {
      throw FuzzFinding("the answer to a forward request: \(error)")
    }
  }

  /// The client has begun a back channel.
  func begin(
    _ connection: ChannelFuzzConnection, isPoll: Bool, after number: Int, now: UInt64
  ) throws(FuzzFinding) {
    if let status = connection.status, status != 200 {
      guard status == 400, isOver || isUncertain || endNumber.map({ number >= $0 }) ?? false else {
        throw FuzzFinding("a back channel after array \(number) of \(last) is refused with \(status)")
      }
      if !isUncertain { isOver = true }
      return
    }
    guard !isOver || isUncertain else { throw FuzzFinding("a session that is over has a back channel") }
    if let previous = openBack {
      guard isUncertain else {
        throw FuzzFinding("a session has two back channels: \(previous.body.count) bytes")
      }
    }
    acknowledged = max(acknowledged, number)
    hasHadBack = true
    (back, mode, reader, readCount) = (connection, isPoll ? .poll : .stream, ChannelFrameReader(), 0)
    expected = number + 1
    guard isPoll || !connection.body.isEmpty else { throw FuzzFinding("a stream begins with nothing") }
    try readBack(now: now)
  }

  /// Takes what has arrived on the back channel.
  func readBack(now: UInt64) throws(FuzzFinding) {
    guard let back else { return absentSince = min(absentSince, now) }
    do {
      for frame in try reader.take(back.body.dropFirst(readCount)) {
        for array in try ChannelArray.all(in: frame) { try take(array) }
      }
      readCount = back.body.count
      guard !back.hasEnded || !reader.isWithinFrame else { throw Violation("it ends within a frame") }
    } catch {
      throw FuzzFinding("a back channel: \(error)")
    }
    if back.isOver {
      self.back = nil
      absentSince = now
    }
  }

  private func take(_ array: ChannelArray) throws {
    guard array.id == expected else { throw Violation("array \(array.id) is in the place of \(expected)") }
    expected += 1
    if let known = arrays[array.id] {
      guard known == array else { throw Violation("array \(array.id) comes again with another content") }
    }
    arrays[array.id] = array
    last = max(last, array.id)
    guard endNumber == nil || array.id <= last, endNumber.map({ array.id <= $0 }) ?? true else {
      throw Violation("array \(array.id) follows the end of the call")
    }
    switch array.content {
    case .session, .stop: throw Violation("array \(array.id) is \(array.content)")
    case .noop: break
    case .close, .error: endNumber = array.id
    case .message(let bytes) where isListen: _ = try Wire.ListenResponse(json: bytes)
    case .message(let bytes):
      _ = try Wire.WriteResponse(json: bytes)
      token = JSONTree(bytes)["streamToken"]?.text ?? token
    }
  }

  /// The server shuts down. The session of a write stream whose client has all results is over.
  func noteDrain() { if !isListen { isUncertain = true } }

  func cut(now: UInt64) {
    guard back != nil else { return }
    back = nil
    absentSince = now
  }

  /// The answer to a request that ends the session.
  func noteTermination(_ answer: ChannelFuzzConnection) throws(FuzzFinding) {
    guard answer.hasEnded, let status = answer.status else { throw FuzzFinding("an end has no answer") }
    guard status == (isOver ? 400 : 200) || isUncertain || endNumber != nil else {
      throw FuzzFinding("the end of a session that is \(isOver ? "over" : "open") has the status \(status)")
    }
    isOver = true
    guard openBack == nil else { throw FuzzFinding("a session that is over keeps its back channel") }
  }

  /// Time has passed. A stream to which nothing else was sent has an array without a meaning.
  func notePassed(seconds: Int, countBefore: Int, now: UInt64) throws(FuzzFinding) {
    if let openBack, mode == .stream, seconds >= 30, !isUncertain, openBack.body.count == countBefore {
      throw FuzzFinding("a stream is silent for \(seconds) seconds")
    }
    try readBack(now: now)
    let seconds = hasHadBack ? Self.absentSeconds : Self.unusedSeconds
    if openBack == nil, now >= absentSince + seconds * 1_000_000_000, !isUncertain {
      isOver = true
    }
  }
}
