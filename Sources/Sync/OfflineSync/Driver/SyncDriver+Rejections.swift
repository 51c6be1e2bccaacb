// Listeners of rejected writes.

internal import ByteStore
internal import DocumentStore

struct RejectionListener {
  let handler: SyncDriver.RejectionHandler
  /// The last rejection of each user that the listener has received.
  var last: [String?: BatchID] = [:]

  /// Returns whether the rejection is new to the listener.
  mutating func note(_ rejection: Rejection) -> Bool {
    if let last = last[rejection.user], rejection.id <= last { return false }
    last[rejection.user] = rejection.id
    return true
  }
}

extension SyncDriver {
  package typealias RejectionHandler = @Sendable (Result<Rejection, OfflineSyncError>) -> Void

  /// Calls the handler for each rejected write of the current user. The first ones are those that the app has
  /// not seen yet, also of earlier runs. `noteSeen` removes a rejection for good.
  package func listenToRejections(_ handler: @escaping RejectionHandler) -> ListenerID {
    let id = numbers.next()
    enqueue { [self] in
      if let failure { return handler(.failure(failure)) }
      rejectionListeners[id] = RejectionListener(handler: handler)
      notifyOfKeptRejections()
    }
    return id
  }

  package func unlistenToRejections(_ id: ListenerID) {
    enqueue { [self] in
      let gone = rejectionListeners.removeValue(forKey: id)
      withExtendedLifetime(gone) {}
    }
  }

  /// Notes that the app has seen a rejection. No later listener receives it.
  package func noteSeen(_ rejection: Rejection) { send(.rejectionSeen(rejection.id, of: rejection.user)) }

  func notify(_ rejection: Rejection, dropped: Int) {
    recorder.emit(
      .syncWriteRejected, .warning,
      fields: [
        .init("code", .text("\(rejection.error.code)")), .init("error", .text(rejection.error.message)),
        .init("documents", .count(rejection.paths.count)),
      ])
    if dropped > 0 {
      recorder.emit(.syncRejectionDropped, .warning, fields: [.init("rejections", .count(dropped))])
    }
    for id in rejectionListeners.keys.sorted() { deliver(rejection, to: id) }
  }

  private func deliver(_ rejection: Rejection, to id: ListenerID) {
    guard rejectionListeners[id]?.note(rejection) == true else { return }
    rejectionListeners[id]?.handler(.success(rejection))
  }

  /// Rejections of other users are kept until those users return.
  func notifyOfKeptRejections() {
    guard failure == nil else { return }
    let user = engine.local.user
    for id in rejectionListeners.keys.sorted() {
      do throws(DocumentStoreError) {
        let kept = try engine.local.rejections(after: rejectionListeners[id]?.last[user])
        for rejection in kept { deliver(rejection, to: id) }
      } catch {
        rejectionListeners.removeValue(forKey: id)?.handler(.failure(.store(error)))
      }
    }
  }
}
