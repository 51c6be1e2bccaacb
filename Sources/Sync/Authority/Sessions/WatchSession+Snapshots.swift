// How a session sends a snapshot.

internal import ByteStore
internal import DocumentStore
internal import OfflineSync

extension WatchSession {
  /// Sends the messages that wait. Called in blocks of `enqueue`.
  func flush() { for message in state.withLock({ $0.flush() }) { send(message) } }

  /// Sends a snapshot. Called in blocks of `enqueue`.
  func deliver(_ snapshot: StreamSnapshot) {
    guard let news = state.withLock({ $0.take(snapshot) }) else { return }
    for message in news.outbox { send(message) }
    let version = snapshot.time.map { SnapshotVersion($0) } ?? .first
    let mayRead = { [authority, user = consumer.user] path in authority.rules.mayRead(path, as: user) }
    var changes = SnapshotChanges(at: version, mayRead: mayRead)
    for (change, target) in news.changes { changes.add(change, in: target) }
    changes.forEachMessage { send($0) }
    let token = authority.life.resumeToken(
      position: snapshot.position ?? .start, time: version, life: lifeNumber)
    let context = Resumption.Context(
      backend: authority.backend, mayRead: mayRead, position: snapshot.position, version: version,
      windows: windows(of: news.complete, through: snapshot.position))
    for (target, present) in news.complete {
      let answer = TargetAnswer(
        target: target, present: present, context: context, documentsName: consumer.documentsName,
        token: token)
      answer.forEachMessage { send($0) }
    }
    let isNews = !news.changes.isEmpty || !news.complete.isEmpty
    sendTime(authority.life.raised(version), token, isNews: isNews)
    for (target, _) in news.complete where target.request.once { endAfterSnapshot(target) }
    for (target, error) in news.failures { didFail(target, RemoteError(error)) }
  }

  /// The changes since the tokens of targets, as far as the feed has them.
  private func windows(
    of targets: [(target: WatchedTarget, present: [StoredDocument])], through position: FeedPosition?
  ) -> [TargetID: FeedWindow] {
    guard let position else { return [:] }
    let targets = targets.map { FeedWindow.Request(target: $0.target, count: $0.present.count) }
    return FeedWindow.windows(of: targets, through: position, in: authority.backend)
  }

  /// Tells the client that it has everything up to a time, unless it knows.
  private func sendTime(_ version: SnapshotVersion, _ token: [UInt8], isNews: Bool) {
    let time: SnapshotVersion? = state.withLock { state in
      guard state.hasSentTargets, isNews || version > state.sentVersion else { return nil }
      state.sentVersion = max(state.sentVersion, version)
      return state.sentVersion
    }
    if let time { consumer.send(.target(.noChange, [], resumeToken: token), time) }
  }

  private func send(_ message: WatchChange) {
    guard case .document(let path, let document?, let updated, let removed) = message else {
      return consumer.send(message, .none)
    }
    var raised = document
    raised.version = authority.life.raised(document.version)
    consumer.send(.document(path, raised, updated: updated, removed: removed), .none)
  }
}
