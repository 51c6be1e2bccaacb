// A watch stream: targets go out as requests, and answers come back as changes.

internal import ByteStore
internal import FirestoreWire
internal import OfflineSync

/// It works on the scheduler of its remote.
final class ListenStream: FlowControlledWatchStream, @unchecked Sendable {
  // The conformance is unchecked, because the state without a lock is only accessed on the serial scheduler.
  private let context: RemoteContext
  private let handler: @Sendable (WatchStreamEvent) -> Void
  private var call: StreamCall?
  private var isClosed = false
  private let unhandled = Locked(UnhandledChanges())

  init(
    _ context: RemoteContext, as user: String?, _ handler: @escaping @Sendable (WatchStreamEvent) -> Void
  ) {
    self.context = context
    self.handler = handler
    context.scheduler.run { [self] in open(as: user) }
  }

  // MARK: The client's side

  func watch(_ target: WatchTarget) { context.scheduler.run { [self] in add(target) } }

  func unwatch(_ id: TargetID) {
    context.scheduler.run { [self] in
      var request = Wire.ListenRequest()
      request.targetChange = .removeTarget(id.value)
      send(request)
    }
  }

  func close() { context.scheduler.run { [self] in end() } }

  /// Holds back the server from here on while the client has not handled its changes.
  func enableFlowControl() { unhandled.withLock { $0.enable() } }

  func noteHandled() {
    guard unhandled.withLock({ $0.removeFirst() }) else { return }
    context.scheduler.run { [self] in
      // Messages that came before this may have paused the call again.
      if !unhandled.withLock({ $0.isFull }) { call?.resume() }
    }
  }

  // MARK: On the scheduler

  private func open(as user: String?) {
    guard !isClosed else { return }
    // The call keeps the stream until its end.
    let call = StreamCall(
      context, "Listen", as: user,
      taken: { [self] bytes throws(RemoteError) in try take(bytes) },
      ended: { [self] error in
        end()
        handler(.closed(error))
      })
    self.call = call
    // No connection is made before the first message, so the client has to send one.
    handler(.opened)
    call.start()
  }

  private func add(_ target: WatchTarget) {
    var request = Wire.ListenRequest()
    do throws(RemoteError) {
      let (wire, labels) = try context.database.wire(TargetRequest(target, isOnce: target.once))
      request.targetChange = .addTarget(wire)
      request.labels = labels
    } catch {
      // The other targets of the stream are not concerned.
      guard !isClosed else { return }
      return deliver(.target(.removed, [target.id], cause: error), .none)
    }
    send(request)
  }

  private func send(_ request: Wire.ListenRequest) {
    var request = request
    request.database = context.database.text
    do throws(RemoteError) { call?.send(try RemoteContext.encode(request)) } catch { call?.end(error) }
  }

  /// Takes a message. If it has a document that cannot be read, the client refuses this document alone. Any
  /// other message that cannot be read ends the stream with DATA_LOSS, and the client waits long before it
  /// asks for the message again.
  private func take(_ bytes: [UInt8]) throws(RemoteError) {
    do throws(RemoteError) {
      let response: Wire.ListenResponse = try RemoteContext.read(bytes)
      guard let (change, version) = try context.database.change(response) else { return }
      deliver(change, version, messageBytes: bytes.count)
    } catch {
      guard let change = context.database.unreadableChange(in: bytes, because: error.message) else {
        throw RemoteContext.unreadable(error, .dataLoss)
      }
      deliver(change, .none, messageBytes: bytes.count)
    }
  }

  private func deliver(_ change: WatchChange, _ version: SnapshotVersion, messageBytes: Int = 0) {
    // The client may handle the change at once, and the server is then resumed after it was paused.
    if unhandled.withLock({ $0.add(messageBytes) }) { call?.pause() }
    handler(.changed(change, version))
  }

  private func end() {
    isClosed = true
    call?.close()
    call = nil
  }
}
