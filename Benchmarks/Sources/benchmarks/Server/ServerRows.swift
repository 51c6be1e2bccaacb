// The rows of the server.

/// `--rows server`: what the server costs over the loopback interface, beside `nghttpd`, Firestore's emulator
/// and PocketBase, as far as they are installed.
enum ServerRows: RowGroup {
  static let name = "server"
  static let title =
    "Times of the server over the loopback interface, interleaved rounds, ratios to the first line of each part"

  static func parts(_ options: BenchmarkOptions, in directory: String) throws -> [RowPart] {
    #if Server
    let peers = ServerPeers(directory)
    let server = try LocalServer("\(directory)/served")
    var parts = try GetRows.parts(server, peers, in: directory)
    parts += try CommitRows.parts(server, peers, in: directory)
    parts += try ListenerRows.parts(server, peers)
    parts += try DeliveryRows.parts(in: directory)
    parts += try ServerMemoryRows.parts(in: directory) + StartRows.parts(peers, in: directory)
    for index in parts.indices { parts[index].resources = peers }
    return parts
    #else
    throw BenchmarkFailure(
      "the server is not measured: the headers of its libraries are not installed "
        + "(libnghttp2-dev libssl-dev)")
    #endif
  }
}
