// The back channel of a session: arrays from the server.

#if Server
import Harness

/// Keeps one request open, from whose answer the arrays come.
final class ClientBackChannel {
  private let connection: ChannelConnection
  unowned var client: WebChannelClient!
  private var reader = ChannelFrameReader()
  private var status = 0
  private var refusal: [UInt8] = []
  private var expectedID = 0
  /// The array from which the client asks again. Requests acknowledge no more until the server has begun to
  /// answer, because they may overtake this one.
  private(set) var repeatedFrom: Int?
  private var attempts = 0
  private var hasBytes = false
  /// Back channels in a row that brought nothing.
  private var silences = 0
  private var isClosed = false
  private var silenceTimer: PollLoop.Timer?
  private var unreadTimer: PollLoop.Timer?
  /// Whether each answer ends after what there is.
  var polls = false

  init(_ connection: ChannelConnection) { self.connection = connection }

  var isBusy: Bool { connection.isBusy }

  func close() {
    isClosed = true
    stopWatching()
    unreadTimer?.cancel()
    connection.close()
  }

  func begin() {
    guard !isClosed, !connection.isBusy, let session = client.session else { return }
    client.counts.backChannels += 1
    (status, refusal, hasBytes, reader) = (0, [], false, ChannelFrameReader())
    // A browser asks from the last array. Any array that is not acknowledged must be there, too.
    let unacknowledged = client.lastID - max(0, client.acknowledgedID)
    let back = unacknowledged > 0 && client.random.oneIn(4) ? client.random.below(unacknowledged + 1) : 0
    let first = client.lastID - back
    repeatedFrom = back > 0 ? first : nil
    expectedID = first + 1
    var parameters = [
      ("SID", session), ("RID", "rpc"), ("AID", client.acknowledge(first)), ("CI", polls ? "1" : "0"),
      ("TYPE", "xmlhttp"),
    ]
    if polls, let limit = client.options.pollMilliseconds { parameters.append(("TO", "\(limit)")) }
    watchSilence()
    connection.send("GET", client.target(parameters)) { [weak self] in self?.take($0) }
  }

  /// Drops the back channel, and begins another one.
  func restart() {
    guard !isClosed else { return }
    connection.cancel()
    begin()
  }

  /// The server knows of no back channel. The present one may be on its way.
  func noteMissing() {
    client.counts.missingBackChannels += 1
    begin()
  }

  // MARK: Answers

  private func take(_ event: ChannelConnection.Event) {
    guard !isClosed else { return }
    switch event {
    case .head(let status): self.status = status
    case .body(let bytes): take(bytes)
    case .end: end()
    case .lost:
      stopWatching()
      client.counts.lostBackChannels += 1
      retry()
    case .malformed(let violation): client.fail(violation)
    }
  }

  private func take(_ bytes: [UInt8]) {
    guard status == 200 else { return refusal += bytes }
    (hasBytes, attempts, repeatedFrom) = (true, 0, nil)
    silences = 0
    stopWatching()
    do throws(Violation) {
      for frame in try reader.take(bytes) {
        for array in try ChannelArray.all(in: frame) {
          guard array.id == expectedID else {
            throw Violation("a back channel has array \(array.id) in the place of \(expectedID)")
          }
          expectedID += 1
          try client.take(array)
          guard !isClosed else { return }
        }
      }
    } catch {
      client.fail(error)
    }
  }

  private func end() {
    stopWatching()
    guard status == 200 else { return client.refuse(status: status, body: refusal) }
    guard !reader.isWithinFrame else {
      return client.fail(Violation("a back channel ends within a frame"))
    }
    // A server that ends its answers at once is not asked again at once.
    if hasBytes { begin() } else { retry() }
  }

  private func retry() {
    attempts += 1
    guard attempts <= client.options.attemptsMax else { return client.giveUp() }
    client.loop.after(milliseconds: client.options.retryMilliseconds) { [weak self] in self?.begin() }
  }

  // MARK: Silence

  /// A stream brings something at once, so something on the way keeps its bytes if nothing arrives. A poll
  /// brings nothing until its limit.
  private func watchSilence() {
    stopWatching()
    guard !polls || client.options.pollMilliseconds != nil else { return }
    let time = silenceMilliseconds + (polls ? client.options.pollMilliseconds ?? 0 : 0)
    silenceTimer = client.loop.after(milliseconds: time) { [weak self] in
      guard let self, !isClosed else { return }
      client.counts.deadBackChannels += 1
      silences += 1
      if !polls, client.options.detectsBuffering {
        client.counts.bufferedBackChannels += 1
        polls = true
      }
      restart()
    }
  }

  /// The server has sent more than what has arrived. If it does not arrive, the back channel is dead.
  func noteUnread(_ lastID: Int) {
    guard unreadTimer == nil else { return }
    unreadTimer = client.loop.after(milliseconds: silenceMilliseconds) { [weak self] in
      guard let self, !isClosed else { return }
      unreadTimer = nil
      guard client.lastID < lastID else { return }
      client.counts.deadBackChannels += 1
      silences += 1
      restart()
    }
  }

  /// A server that is slow is not asked more and more often.
  private var silenceMilliseconds: Int { client.options.silenceMilliseconds << min(silences, 6) }

  private func stopWatching() {
    silenceTimer?.cancel()
    silenceTimer = nil
  }
}
#endif
