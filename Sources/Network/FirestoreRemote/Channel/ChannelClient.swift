// The client's side of a session of WebChannel without sockets, threads and a clock.
//
//   1. The first message of the program opens the session, and rides in that request. In a call that writes
//      it is alone there, because the request is sent again if its answer is lost.
//   2. One forward request at a time carries further messages. It is sent again with the same numbers until
//      it is answered, and the server skips the numbers that it has.
//   3. A back channel brings arrays. When it ends, another one begins from the last array.
//   4. The session ends with an error, with "close", after failures in a row, or when the program closes it.
//      Then the client ends it in the server, too.
//
// Invariants:
//   - A session has one forward request and one back channel at most.
//   - Arrays are taken in order. A repeated array is skipped, and a missing one ends the call.
//   - The program gets one end, and nothing after it.

internal import HTTPClient
internal import OfflineSync

/// The state of a session. Events go in, and actions come out.
struct ChannelClient {
  enum Phase: Equatable {
    /// The program has sent nothing.
    case idle
    case opening
    case open
    /// The program has closed the call. The answer with the id of the session is still to come.
    case closing
    case over
  }

  let settings: ChannelSettings
  /// Header fields of the call, which ride in the first request.
  let fields: [WebRequest.Field]
  private(set) var phase = Phase.idle
  private(set) var forward = ForwardState()
  private(set) var back: BackState
  /// The number of the last array.
  private(set) var last: UInt64 = 0
  private(set) var line = MessageLine()
  /// Whether the program takes no messages.
  private var isPaused = false
  private var address: SessionAddress
  private var keepAlive: Int64
  /// The numbers of requests and of timers.
  private var lastNumber: UInt64 = 0
  /// The request that ends the session at the server, and the timer that cancels it.
  private var termination: (request: UInt64, limit: UInt64)?
  private var actions: [ClientAction] = []

  init(
    _ address: SessionAddress, fields: [WebRequest.Field], polls: Bool,
    settings: ChannelSettings = ChannelSettings()
  ) {
    self.settings = settings
    self.fields = fields
    self.address = address
    keepAlive = settings.keepAlive
    back = BackState(polls: polls, pieceLengthMax: settings.pieceLengthMax)
  }

  /// The id of the session, after the server has answered.
  var session: String? { address.session }

  /// Takes an event, and returns what has to be done now.
  mutating func receive(_ event: ClientEvent) -> [ClientAction] {
    if phase != .over {
      take(event)
    } else if case .timer(let timer) = event, let termination, timer == termination.limit {
      actions.append(.cancel(request: termination.request))
    }
    defer { actions = [] }
    return actions
  }

  private mutating func take(_ event: ClientEvent) {
    switch event {
    case .send(let message):
      guard phase != .closing else { return }
      line.add(message)
      if phase == .idle { open() } else { sendNext() }
    case .close: close()
    case .pause: (isPaused, back.wasPaused) = (true, true)
    case .resume: isPaused = false
    case .answer(let request, let event):
      if request == forward.request {
        receiveForward(event)
        if forward.answer.isTooLong { endForwardAnswer() }
      } else if request == back.request {
        receiveBack(event)
        if back.answer.isTooLong { endBackAnswer() }
      }
    case .timer(let timer):
      if timer == forward.retry {
        forward.retry = nil
        if phase == .open { sendForward() } else { sendOpening() }
      } else if timer == forward.limit {
        endForwardAnswer()
      } else if timer == back.retry {
        back.retry = nil
        beginBack()
        if back.emptyAnswers.count > 0 { back.pause = wake(after: settings.shortAnswerTime) }
      } else if timer == back.pause {
        back.pause = nil
      } else if timer == back.watch {
        watchPassed()
      } else if timer == back.suspicion {
        suspicionPassed()
      }
    }
  }

  // MARK: Opening

  private mutating func open() {
    guard fields.allSatisfy(ChannelForm.isValid) else {
      return end(RemoteError(.invalidArgument, "A header field of the call has an invalid character."))
    }
    phase = .opening
    let first = address.method == "Write" ? 1 : settings.messagesMax
    forward.batch = line.takeBatch(messagesMax: first, bytesMax: settings.messageBytesMax)
    sendOpening()
  }

  private mutating func sendOpening() {
    guard let batch = forward.batch else { return }
    // An answer that comes late belongs to another session, so each attempt has a number of its own.
    let target = address.opening(number: address.nextNumber())
    post(target, ChannelForm.body(batch, fields: fields))
  }

  private mutating func opened(_ answer: WebAnswer) {
    guard answer.status == 200 else {
      let error = RemoteError(status: answer.status, body: answer.body)
      guard WebAnswer.isTemporary(answer.status), error.code == .unavailable else { return end(error) }
      return openingFailed(error)
    }
    do throws(ChannelFault) {
      let greeting = try Self.greeting(answer.body)
      if let text = answer.fields["x-http-session-id"] {
        guard ChannelToken.isValid(text) else { throw .malformed }
        address.httpSession = text
      }
      address.session = greeting.session
      keepAlive = greeting.keepAlive ?? keepAlive
    } catch {
      return end(error.error)
    }
    guard phase == .opening else { return end(nil) }
    phase = .open
    (forward.batch, forward.attempts) = (nil, ChannelAttempts())
    beginBack()
    sendNext()
  }

  private static func greeting(_ body: [UInt8]) throws(ChannelFault) -> ChannelGreeting {
    var pieces = PieceReader(lengthMax: ChannelSettings.answerBytesMax)
    pieces.add(body)
    guard let piece = try pieces.next(), let array = try ReceivedArray.all(in: piece).first, array.number == 0
    else { throw .malformed }
    switch array.content {
    case .greeting(let greeting): return greeting
    default: throw .malformed
    }
  }

  private mutating func openingFailed(_ error: RemoteError) {
    guard phase == .opening,
      let delay = forward.attempts.fail(max: settings.openAttemptsMax, settings, random: &address.random)
    else { return end(error) }
    forward.retry = wake(after: delay)
  }

  // MARK: The forward channel

  /// Sends what waits, unless a request waits for its answer.
  private mutating func sendNext() {
    guard phase == .open, forward.batch == nil else { return }
    forward.batch = line.takeBatch(messagesMax: settings.messagesMax, bytesMax: settings.messageBytesMax)
    guard forward.batch != nil else { return }
    forward.number = address.nextNumber()
    sendForward()
  }

  private mutating func sendForward() {
    guard let batch = forward.batch else { return }
    let target = address.forward(number: forward.number, acknowledged: last)
    post(target, ChannelForm.body(batch, fields: nil))
  }

  private mutating func post(_ target: String, _ body: [UInt8]) {
    var request = WebRequest("POST", target)
    request.fields = [WebRequest.Field("content-type", "application/x-www-form-urlencoded")]
    request.body = body
    request.silenceSeconds = settings.silenceSeconds
    forward.request = begin(request)
    forward.answer = WebAnswer()
  }

  private mutating func receiveForward(_ event: WebEvent) {
    forward.answer.take(event)
    if case .head = event { forward.limit = wake(after: settings.answerTime) }
    guard case .ended(let failure) = event else { return }
    let answer = forward.answer
    (forward.request, forward.answer, forward.limit) = (nil, WebAnswer(), nil)
    guard failure == nil else {
      let error = RemoteError(.unavailable, failure?.message ?? "")
      return phase == .open ? forwardFailed(error) : openingFailed(error)
    }
    if phase == .open { forwardAnswered(answer) } else { opened(answer) }
  }

  /// Ends an answer that is too long, or that has begun and does not end, and takes it as it is.
  private mutating func endForwardAnswer() {
    guard let request = forward.request else { return }
    actions.append(.cancel(request: request))
    receiveForward(.ended(nil))
  }

  private mutating func forwardAnswered(_ answer: WebAnswer) {
    guard answer.status == 200, let status = try? ForwardStatus(answer.body) else {
      let error = answer.sessionError
      return WebAnswer.isTemporary(answer.status) ? forwardFailed(error) : end(error, isUnknown: true)
    }
    (forward.batch, forward.attempts) = (nil, ChannelAttempts())
    if !status.hasBackChannel || status.last > last { suspectBack() }
    sendNext()
  }

  private mutating func forwardFailed(_ error: RemoteError) {
    guard let delay = forward.attempts.fail(max: settings.attemptsMax, settings, random: &address.random)
    else {
      return end(error)
    }
    forward.retry = wake(after: delay)
  }

  // MARK: The back channel

  private mutating func beginBack() {
    let timeLimit = back.polls && back.trial == .connection ? settings.detectionTime / 1000 : nil
    var request = WebRequest(
      "GET", address.back(acknowledged: last, polls: back.polls, within: timeLimit))
    // The timers of this session end a back channel earlier.
    request.silenceSeconds = Double(keepAlive) / 1_000_000 * 4 + 10
    back.request = begin(request)
    back.reset(pieceLengthMax: settings.pieceLengthMax)
    back.watch = wake(after: settings.detectionTime)
  }

  private mutating func receiveBack(_ event: WebEvent) {
    switch event {
    case .head(let status, _): back.answer.status = status
    case .bytes(let bytes):
      back.hasNewBytes = true
      back.byteCount += bytes.count
      guard back.answer.status == 200 else { return back.answer.take(event) }
      endTrial()
      takePieces(bytes)
    case .ended(let failure):
      back.request = nil
      guard failure == nil else { return backFailed(RemoteError(.unavailable, failure?.message ?? "")) }
      guard back.answer.status == 200 else { return backRefused() }
      guard back.hasBroughtArrays, !back.pieces.isWithinPiece else {
        return backFailed(RemoteError(.unavailable, "The server ends its answers before they are complete."))
      }
      backAnswered()
    }
  }

  private mutating func backRefused() {
    let error = back.answer.sessionError
    if WebAnswer.isTemporary(back.answer.status) { backFailed(error) } else { end(error, isUnknown: true) }
  }

  /// Ends an answer without arrays that is too long, and takes it as it is.
  private mutating func endBackAnswer() {
    guard back.request != nil else { return }
    cancelBack()
    backRefused()
  }

  /// Begins the next back channel. A server or proxy may end each answer at once. So there is a delay after
  /// an answer without a message that follows another one of its kind within a short time.
  private mutating func backAnswered() {
    guard !back.hasBroughtMessages else {
      (back.pause, back.emptyAnswers) = (nil, ChannelAttempts())
      return beginBack()
    }
    guard back.pause != nil else {
      back.emptyAnswers.reset()
      beginBack()
      back.pause = wake(after: settings.shortAnswerTime)
      return
    }
    (back.watch, back.suspicion) = (nil, nil)
    if let delay = back.emptyAnswers.fail(max: .max, settings, random: &address.random) {
      back.retry = wake(after: delay)
    }
  }

  private mutating func takePieces(_ bytes: [UInt8]) {
    do throws(ChannelFault) {
      back.pieces.add(bytes)
      while let piece = try back.pieces.next() {
        for array in try ReceivedArray.all(in: piece) {
          try take(array)
          guard phase == .open else { return }
        }
      }
    } catch {
      guard error == .malformed else { return end(error.error) }
      // The next back channel brings the arrays again.
      cancelBack()
      backFailed(error.error)
    }
  }

  private mutating func take(_ array: ReceivedArray) throws(ChannelFault) {
    guard array.number > last else { return }
    guard array.number == last + 1 else { throw .gap(after: last, array.number) }
    last = array.number
    back.hasBroughtArrays = true
    back.attempts.reset()
    switch array.content {
    case .message(let message):
      back.hasBroughtMessages = true
      actions.append(.deliver(.message(message)))
    case .error(let error): end(error)
    case .close: end(nil)
    case .stop: end(RemoteError(.unavailable, "The server has stopped the session."))
    case .greeting, .ignored: break
    }
  }

  private mutating func backFailed(_ error: RemoteError, isImmediate: Bool = false) {
    (back.watch, back.suspicion) = (nil, nil)
    guard let delay = back.attempts.fail(max: settings.attemptsMax, settings, random: &address.random) else {
      return end(error)
    }
    if isImmediate { beginBack() } else { back.retry = wake(after: delay) }
  }

  private mutating func cancelBack() {
    if let request = back.request { actions.append(.cancel(request: request)) }
    back.request = nil
  }

  // MARK: Silence

  private static let silence = RemoteError(.unavailable, "The server has not sent anything for too long.")

  /// A part of the time has passed in which the back channel has to bring something.
  private mutating func watchPassed() {
    guard back.request != nil else { return }
    guard !back.wasPaused else {
      back.wasPaused = isPaused
      back.watch = wake(after: settings.detectionTime)
      return
    }
    back.silentPeriods = back.hasNewBytes ? 0 : back.silentPeriods + 1
    if back.hasNewBytes, !back.polls { back.streams = true }
    back.hasNewBytes = false
    guard back.silentPeriods >= silentPeriodsMax else {
      back.watch = wake(after: settings.detectionTime)
      return
    }
    guard back.trial == nil else { return end(Self.silence) }
    if !back.polls, !back.streams {
      // The server sends the first bytes at once. If something on the way has them, it lets an answer pass
      // that ends.
      back.polls = true
      back.trial = .polling
    } else {
      back.trial = .connection
    }
    cancelBack()
    backFailed(Self.silence, isImmediate: true)
  }

  /// Takes the first byte after a silence. If only streams are held back, polls are answered at once.
  /// Otherwise the server may have been silent, and the next request streams again.
  private mutating func endTrial() {
    if back.trial == .polling {
      if back.silentPeriods == 0 { actions.append(.noteBuffering) } else { back.polls = false }
    }
    back.trial = nil
  }

  /// The number of periods without a byte after which the back channel has failed.
  private var silentPeriodsMax: Int {
    // A stream brings its first bytes in one period, and a poll with a time limit in two.
    if !back.polls, !back.streams || back.trial != nil { return 1 }
    if back.trial == .connection { return 2 }
    // The server sends something in each time between keep-alives. One more period is for delays.
    return Int((keepAlive + settings.detectionTime - 1) / settings.detectionTime) + 1
  }

  /// The server knows of no back channel, or has sent more than what has arrived. If nothing arrives now, the
  /// back channel is dead.
  private mutating func suspectBack() {
    guard back.request != nil, back.suspicion == nil else { return }
    back.bytesWhenSuspected = back.byteCount
    back.suspicion = wake(after: settings.detectionTime)
  }

  private mutating func suspicionPassed() {
    back.suspicion = nil
    guard back.request != nil, back.byteCount == back.bytesWhenSuspected else { return }
    guard !back.wasPaused else { return suspectBack() }
    cancelBack()
    backFailed(Self.silence, isImmediate: true)
  }

  // MARK: Ends

  private mutating func close() {
    switch phase {
    case .idle: phase = .over
    case .opening:
      // The server may have opened the session, which is ended when its id is known.
      phase = .closing
      line.removeAll()
      if forward.request == nil { forget() }
    case .open:
      terminate()
      forget()
    case .closing, .over: break
    }
  }

  /// Ends the call. A server that does not know the session need not end it.
  private mutating func end(_ error: RemoteError?, isUnknown: Bool = false) {
    if phase != .closing { actions.append(.deliver(.closed(error))) }
    if !isUnknown { terminate() }
    forget()
  }

  private mutating func terminate() {
    guard address.session != nil else { return }
    var request = WebRequest("POST", address.termination(number: address.nextNumber()))
    request.silenceSeconds = settings.silenceSeconds
    request.body = []
    // Nothing reads the answer, which a proxy may stretch without end.
    termination = (begin(request), wake(after: settings.answerTime))
  }

  private mutating func forget() {
    if let request = forward.request { actions.append(.cancel(request: request)) }
    cancelBack()
    phase = .over
    forward = ForwardState()
    back = BackState(polls: back.polls, pieceLengthMax: settings.pieceLengthMax)
    line.removeAll()
  }

  // MARK: Numbers

  private mutating func begin(_ request: WebRequest) -> UInt64 {
    lastNumber += 1
    actions.append(.begin(request: lastNumber, request))
    return lastNumber
  }

  private mutating func wake(after microseconds: Int64) -> UInt64 {
    lastNumber += 1
    actions.append(.wake(lastNumber, after: microseconds))
    return lastNumber
  }
}
