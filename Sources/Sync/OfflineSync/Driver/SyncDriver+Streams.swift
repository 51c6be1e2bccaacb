// The streams of a remote, and what is observed beside them: the network and the credentials.

internal import ByteStore

/// The open streams of a client. Accessed on the scheduler.
struct OpenStreams {
  struct Watch {
    let number: Int
    let stream: any WatchStream
    /// The stream, if it has flow control.
    let flow: (any FlowControlledWatchStream)?
    /// Whether the stream has brought a message. A remote may open it before there is a connection.
    var isConnected = false
  }

  var watch: Watch?
  var write: (number: Int, stream: any WriteStream)?
}

extension SyncDriver {
  func openWatch(_ user: String?) {
    // The handler of an effect before this one may have stopped the client.
    guard failure == nil else { return }
    let number = number()
    let handler: @Sendable (WatchStreamEvent) -> Void = { [weak self] event in
      self?.scheduler.run { [weak self] in self?.take(event, number) }
    }
    assert(streams.watch == nil, "The engine closes a stream before it opens another one.")
    let flow = (remote as? any FlowControlledRemote)?.openFlowControlledWatchStream(as: user, handler)
    streams.watch = OpenStreams.Watch(
      number: number, stream: flow ?? remote.openWatchStream(as: user, handler), flow: flow)
  }

  private func take(_ event: WatchStreamEvent, _ number: Int) {
    // Events of a closed stream are ignored.
    guard let watch = streams.watch, watch.number == number else { return }
    switch event {
    case .opened:
      reads.noteMessage()
      handle(.watchOpened)
    case .changed(let change, let version):
      if !watch.isConnected { recordConnection(of: "watch") }
      streams.watch?.isConnected = true
      reads.noteMessage()
      handle(.watchChanged(change, version))
      watch.flow?.noteHandled()
    case .closed(let error):
      streams.watch = nil
      recordClosing(of: "watch", error)
      handle(.watchClosed(error))
    }
  }

  func closeWatch() {
    let watch = streams.watch
    streams.watch = nil
    watch?.stream.close()
  }

  func openWrite(_ user: String?) {
    // The handler of an effect before this one may have stopped the client.
    guard failure == nil else { return }
    let number = number()
    let stream = remote.openWriteStream(as: user) { [weak self] event in
      self?.scheduler.run { [weak self] in self?.take(event, number) }
    }
    assert(streams.write == nil, "The engine closes a stream before it opens another one.")
    streams.write = (number, stream)
  }

  private func take(_ event: WriteStreamEvent, _ number: Int) {
    guard streams.write?.number == number else { return }
    switch event {
    case .opened: handle(.writeOpened)
    case .registered(let tokens): handle(.registered(tokens))
    case .handshakeComplete(let token):
      recordConnection(of: "write")
      handle(.handshakeComplete(token: token))
    case .answered(let version, let results, let token):
      handle(.writeAnswered(version, results, token: token))
    case .overtaken:
      streams.write = nil
      handle(.writeOvertaken)
    case .closed(let error):
      streams.write = nil
      recordClosing(of: "write", error)
      handle(.writeClosed(error))
    }
  }

  func closeWrite() {
    let write = streams.write
    streams.write = nil
    write?.stream.close()
  }

  // MARK: Network and credentials

  /// The status at the start is known to the engine before it opens a stream.
  func startMonitoring() {
    guard let networkMonitor else { return }
    stopMonitoring = networkMonitor.observe { [weak self] in
      self?.scheduler.run { [weak self] in self?.noteNetwork() }
    }
    noteNetwork()
  }

  private func noteNetwork() {
    guard let status = networkMonitor?.status else { return }
    handle(.networkChanged(status))
  }

  func observeCredentials() {
    // The status of the network may have stopped the client.
    guard failure == nil else { return }
    stopObservingCredentials = remote.observeCredentials { [weak self] in
      self?.scheduler.run { [weak self] in self?.handle(.credentialsChanged) }
    }
  }
}
