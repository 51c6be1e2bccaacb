// A remote of a scenario that the client reaches over WebChannel. It behaves as Google's Firestore: a write
// stream registers no runs, and its batches have no identity.
//
//   client - SyncDriver - FirestoreRemote - WebChannels - WebChannelPeer - WebChannelRemote - scenario
//
// Requests are read from the bytes that the client has sent, and answers are written as bytes.

import ByteStore
import DocumentStore
import FirestoreRemote
import FirestoreWire
import OfflineSync

final class WebChannelRemote: ScenarioRemote, PeerService {
  /// A source of the same numbers in each run.
  private struct FixedRandom: RandomSource {
    func randomID() -> RandomID { RandomID(high: 1, low: 2) }
  }

  static let database = DatabaseName(projectID: "test-project", databaseID: "(default)")

  private let peer: WebChannelPeer
  let client: any Remote
  private var watching: PeerSession?
  private var writing: PeerSession?
  private(set) var targets: [TargetID: WatchTarget] = [:]
  private(set) var watchRequestCount: Int64 = 0
  private(set) var writeRequestCount: Int64 = 0
  /// The batches without an answer that the scenario has not taken.
  private var batches: [[Mutation]] = []
  private var isHandshakeDone = false
  /// The number of the last stream token.
  private var tokenNumber = 0

  init(_ scheduler: any SyncScheduler) {
    peer = WebChannelPeer(scheduler)
    var options = FirestoreRemoteOptions(project: Self.database.projectID)
    options.database = Self.database.databaseID
    client = FirestoreRemote(
      options, transport: peer,
      channels: WebChannels(
        peer, database: Self.database.text, scheduler: scheduler, random: FixedRandom()),
      on: scheduler, tokens: (Self.fetchToken, nil))
    peer.service = self
  }

  // MARK: Users

  /// Gives the token of a user: a number that grows with each refused token, and the user.
  private static let fetchToken: TokenFetch = { request, done in
    guard let user = request.user else {
      done(.success(nil))
      return {}
    }
    let refused = request.refused?.value.split(separator: ".").first.flatMap { Int($0) } ?? 0
    done(.success(FirestoreToken("\(refused + 1).\(user)")))
    return {}
  }

  private static func user(of session: PeerSession) throws(ScenarioFailure) -> String? {
    guard let field = session.fields["authorization"] else { return nil }
    guard field.hasPrefix("Bearer "), let dot = field.firstIndex(of: ".") else {
      throw ScenarioFailure("the authorization of a stream is \(field)")
    }
    return String(field[field.index(after: dot)...])
  }

  func check(user: String?) throws(ScenarioFailure) {
    if let fault = peer.fault { throw fault }
    for session in peer.open {
      guard session === watching || session === writing else {
        throw ScenarioFailure("a second \(session.method) stream is open")
      }
      let found = try Self.user(of: session)
      guard found == user else {
        throw ScenarioFailure("the \(session.method) stream is one of \(found ?? "no user")")
      }
    }
  }

  // MARK: The client's side

  func opened(_ session: PeerSession) throws(ScenarioFailure) {
    let expected = Self.database.text
    guard session.fields["google-cloud-resource-prefix"] == expected else {
      throw ScenarioFailure("the header fields of a call are \(session.fields)")
    }
    if session.method == "Listen" {
      watching = session
      targets = [:]
    } else {
      writing = session
      (batches, isHandshakeDone) = ([], false)
    }
  }

  func take(_ message: [UInt8], of session: PeerSession) throws(ScenarioFailure) {
    if session === watching {
      watchRequestCount += 1
      try take(try Self.decode(Wire.ListenRequest.self, message))
    } else if session === writing {
      writeRequestCount += 1
      try take(try Self.decode(Wire.WriteRequest.self, message))
    }
  }

  private func take(_ request: Wire.ListenRequest) throws(ScenarioFailure) {
    guard request.database == Self.database.text else {
      throw ScenarioFailure("a target is one of \(request.database)")
    }
    switch request.targetChange {
    case nil: throw ScenarioFailure("a request of a watch stream is empty")
    case .addTarget(let wire):
      var target: TargetRequest
      do throws(RemoteError) { target = try Self.database.target(wire) } catch {
        throw ScenarioFailure("a target is refused: \(error)")
      }
      target.target.purpose = try Self.purpose(request.labels)
      guard targets.updateValue(target.target, forKey: target.target.id) == nil, !target.isOnce else {
        throw ScenarioFailure("target \(wire.targetId) is watched twice, or for one answer")
      }
    case .removeTarget(let id): targets[TargetID(id)] = nil
    }
  }

  /// The purpose that a label tells, in the words of Google's clients.
  private static func purpose(_ labels: Wire.Labels) throws(ScenarioFailure) -> WatchTarget.Purpose {
    switch labels.entries.map({ "\($0.key): \($0.value)" }) {
    case []: .listen
    case ["goog-listen-tags: existence-filter-mismatch"]: .existenceFilterMismatch
    case ["goog-listen-tags: existence-filter-mismatch-bloom"]: .existenceFilterMismatchBloom
    case ["goog-listen-tags: limbo-document"]: .limboResolution
    default: throw ScenarioFailure("the labels of a target are \(labels.entries)")
    }
  }

  private func take(_ request: Wire.WriteRequest) throws(ScenarioFailure) {
    guard isHandshakeDone else { return try shakeHands(request) }
    guard request.streamToken == token else {
      let found = String(decoding: request.streamToken, as: UTF8.self)
      throw ScenarioFailure("the stream token is \(found) in place of \(tokenNumber)")
    }
    guard request.labels == Wire.Labels(), !request.writes.isEmpty else {
      throw ScenarioFailure("a batch is empty, or has an identity that was not negotiated")
    }
    var batch: [Mutation] = []
    do throws(RemoteError) {
      for write in request.writes { batch.append(try Self.database.mutation(write)) }
    } catch {
      throw ScenarioFailure("a write is refused: \(error)")
    }
    batches.append(batch)
  }

  /// A handshake names the database. The labels of a client of Dugout are ignored.
  private func shakeHands(_ request: Wire.WriteRequest) throws(ScenarioFailure) {
    guard request.database == Self.database.text, request.writes.isEmpty, request.streamToken.isEmpty,
      request.streamId.isEmpty
    else { throw ScenarioFailure("the first request of a write stream is no handshake: \(request)") }
    isHandshakeDone = true
    var response = Wire.WriteResponse()
    response.streamId = "0"
    response.streamToken = nextToken()
    try send(response, to: writing)
  }

  private var token: [UInt8] { Array("token-\(tokenNumber)".utf8) }

  private func nextToken() -> [UInt8] {
    tokenNumber += 1
    return token
  }

  func terminated(_ session: PeerSession) {
    if session === watching { targets = [:] }
    guard session === writing else { return }
    // The end of a stream counts as a request, as scenarios count them. Other clients send an empty one.
    if isHandshakeDone { writeRequestCount += 1 }
    (batches, isHandshakeDone) = ([], false)
  }

  private static func decode<Message: WireMessage>(
    _ type: Message.Type, _ bytes: [UInt8]
  ) throws(ScenarioFailure) -> Message {
    do throws(WireError) { return try Message(json: bytes) } catch {
      throw ScenarioFailure("a message of the client cannot be read: \(error.message)")
    }
  }

  // MARK: The scenario's side

  func send(_ change: WatchChange, at version: SnapshotVersion) throws(ScenarioFailure) {
    switch change {
    case .target(.removed, let ids, _, _?):
      for id in ids where targets.removeValue(forKey: id) == nil {
        throw ScenarioFailure("target \(id) is not followed")
      }
    // A server has no message for it: a change that adds a document to targets has the document's content.
    case .document(_, nil, let updated, _) where !updated.isEmpty:
      throw ScenarioFailure("a document without its content enters targets \(updated)")
    default: break
    }
    try send(Self.database.wire(change, version), to: watching)
  }

  func endWatch(_ error: RemoteError?) throws(ScenarioFailure) {
    try end(watching, error)
    targets = [:]
  }

  func takeBatch() throws(ScenarioFailure) -> [Mutation] {
    guard !batches.isEmpty else { throw ScenarioFailure("no write was sent") }
    return batches.removeFirst()
  }

  func accept(_ batch: [Mutation], at version: SnapshotVersion) throws(ScenarioFailure) {
    var response = Wire.WriteResponse()
    response.streamToken = nextToken()
    response.commitTime = Wire.Timestamp(version.stored)
    response.writeResults = batch.map { mutation in
      var result = Wire.WriteResult()
      // A deleted document has no time.
      if case .delete = mutation.change { return result }
      result.updateTime = response.commitTime
      return result
    }
    try send(response, to: writing)
  }

  func endWrite(_ error: RemoteError?) throws(ScenarioFailure) {
    try end(writing, error)
    (batches, isHandshakeDone) = ([], false)
  }

  private func send(_ message: some WireMessage, to session: PeerSession?) throws(ScenarioFailure) {
    guard let session, !session.isOver else { throw ScenarioFailure("no stream is open") }
    do throws(WireError) {
      session.send(String(decoding: try message.json(), as: UTF8.self))
    } catch {
      throw ScenarioFailure("a message cannot be written: \(error.message)")
    }
  }

  private func end(_ session: PeerSession?, _ error: RemoteError?) throws(ScenarioFailure) {
    guard let session, !session.isOver else { throw ScenarioFailure("no stream is open") }
    session.end(error.map(Self.text) ?? #""close""#)
  }

  /// The error of a call, as Google's servers write it.
  private static func text(_ error: RemoteError) -> String {
    let status = "\(error.code)".reduce(into: "") { $0 += ($1.isUppercase ? "_" : "") + $1.uppercased() }
    return #"[{"error":{"code":\#(httpStatus(of: error.code)),"message":"\#(error.message)","#
      + #""status":"\#(status)"}}]"#
  }

  private static func httpStatus(of code: RemoteError.Code) -> Int {
    switch code {
    case .cancelled: 499
    case .invalidArgument, .failedPrecondition, .outOfRange: 400
    case .unauthenticated: 401
    case .permissionDenied: 403
    case .notFound: 404
    case .alreadyExists, .aborted: 409
    case .resourceExhausted: 429
    case .unknown, .internal, .dataLoss: 500
    case .unimplemented: 501
    case .unavailable: 503
    case .deadlineExceeded: 504
    }
  }
}
