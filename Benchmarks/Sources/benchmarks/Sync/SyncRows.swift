// The rows of sync over the network.

/// `--rows sync`: what it costs a client to get the documents of a server and to send its writes, beside a
/// raw copy of as many bytes.
enum SyncRows: RowGroup {
  static let name = "sync"
  static let title =
    "A client with a store on disk and a server process over the loopback interface, interleaved rounds"

  static func parts(_ options: BenchmarkOptions, in directory: String) throws -> [RowPart] {
    #if Server
    let documents = options.documents
    let changes = max(1, documents / 100)
    let writes = documents / 10
    let synced = try SyncedStores(directory, documents: documents)
    var parts = parts("first sync of \(documents) documents", of: documents) { try synced.firstSync() }
    for count in [1, changes] {
      parts += Self.parts("connect again after \(count) of \(documents) changed", of: count) {
        try synced.connectAgain(changes: count)
      }
      parts += Self.parts("start again after \(count) of \(documents) changed", of: count) {
        try synced.startAgain(changes: count)
      }
    }
    parts += Self.parts("upload of \(writes) queued writes", of: writes) {
      try synced.upload(writes: writes)
    }
    for index in parts.indices { parts[index].resources = synced }
    return parts
    #else
    throw BenchmarkFailure(
      "sync is not measured: the headers of the server's libraries are not installed "
        + "(libnghttp2-dev libssl-dev)")
    #endif
  }

  #if Server
  /// One operation is measured once in a round. Its first table shows the time, and the others show the
  /// processor times of the rounds of the first one.
  private static func parts(
    _ title: String, of count: Int, _ measure: @escaping () throws -> SyncCost
  ) -> [RowPart] {
    let operation = MeasuredSync(measure)
    let copy = MeasuredSync {
      let bytes = try operation.lastOrUncounted()
      return try RawCopy.cost(sent: bytes.bytesSent, received: bytes.bytesReceived)
    }
    func part(_ kind: String, _ value: @escaping (MeasuredSync) -> () throws -> Double) -> RowPart {
      RowPart(
        title: "\(title), \(kind)",
        subjects: [
          RowSubject(name: "raw copy of the bytes", unit: "µs", round: value(copy)),
          RowSubject(name: "client and server", unit: "µs", round: value(operation)),
        ])
    }
    var server = part("processor time of the server") { $0.again(\.serverTime) }
    server.notes = { operation.notes(of: count) }
    return [
      part("time") { measured in { try measured.next().time } },
      part("processor time of the client") { $0.again(\.clientTime) },
      server,
    ]
  }
  #endif
}
