// Opens watch sessions.

package import OfflineSync

extension Authority {
  /// Opens the other end of a watch stream of a user. `documentsName` is the prefix of document names in
  /// Bloom filters. `enqueue` runs blocks one at a time and in order, but not within its call.
  ///
  /// `send` receives the messages in such blocks. A message that names no target has the time up to which
  /// everything was sent. `ended` is called in such a block, at most once, if the authority ends the session.
  package func openWatchSession(
    as user: String?, documentsName: String = Authority.documentsName,
    enqueue: @escaping WatchSession.Enqueue,
    send: @escaping @Sendable (WatchChange, SnapshotVersion) -> Void,
    ended: @escaping @Sendable (RemoteError) -> Void = { _ in }
  ) -> WatchSession {
    let session = WatchSession(
      self,
      WatchSession.Consumer(
        user: user, documentsName: documentsName, enqueue: enqueue, send: send, ended: ended))
    add(session)
    // A life that began before the session was in the list has not ended it.
    if life.number != session.lifeNumber { session.end(AuthorityLife.ended) }
    return session
  }
}
