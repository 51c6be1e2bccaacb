// Gets of one document over one connection, with h2load as the client of all servers.

#if Server
import Foundation
import GRPCClients

enum GetRows {
  private static let requests = 40_000
  private static let path = "people/ada"
  private static let staticFileBytes = 300

  static func parts(_ server: LocalServer, _ peers: ServerPeers, in directory: String) throws -> [RowPart] {
    guard let h2load = peers.h2load else { return [] }
    let load = H2Load(program: h2load)
    let body = "\(directory)/get.bin"
    let request = FirestoreMessages.get(path)
    try Data(framed(request)).write(to: URL(fileURLWithPath: body))
    var subjects: [RowSubject] = []
    if let nghttpd = peers.nghttpd {
      subjects.append(try staticFile(nghttpd, load, peers, in: directory))
    }
    let ours = "our server, GetDocument"
    subjects.append(try subject(ours, server.port, load, (body, request), requests: requests))
    if let port = peers.emulatorPort {
      subjects.append(try subject("emulator, GetDocument", port, load, (body, request), requests: 4_000))
    }
    return [
      RowPart(
        title: "a get of a document, 64 open requests on one connection", subjects: subjects,
        goals: peers.nghttpd == nil ? [] : [RowGoal(subject: ours, ratioMax: 2.0)])
    ]
  }

  private static func staticFile(
    _ nghttpd: String, _ load: H2Load, _ peers: ServerPeers, in directory: String
  ) throws -> RowSubject {
    let folder = "\(directory)/static"
    try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
    try Data(repeating: 97, count: staticFileBytes).write(to: URL(fileURLWithPath: "\(folder)/file"))
    let port = try ServerPeers.freePort()
    try peers.start([nghttpd, "--no-tls", "-n", "1", "-d", folder, "-a", "127.0.0.1", "\(port)"])
    return RowSubject(name: "nghttpd, a file of \(staticFileBytes) B") {
      try load.nanoseconds(
        ["-c", "1", "-m", "64", "http://127.0.0.1:\(port)/file"], requests: requests)
    }
  }

  private static func subject(
    _ name: String, _ port: Int, _ load: H2Load, _ call: (body: String, request: [UInt8]), requests: Int
  ) throws -> RowSubject {
    let client = try GRPCClient(rows: port)
    defer { client.close() }
    try client.answer("Commit", FirestoreMessages.commit(path, mark: "first"))
    // The request has to find the document: h2load counts errors of gRPC as answers.
    guard try client.answer("GetDocument", call.request).count > staticFileBytes else {
      throw BenchmarkFailure("\(name) does not answer with the document")
    }
    var arguments = ["-c", "1", "-m", "64", "-d", call.body]
    for (name, value) in FirestoreMessages.metadata + [
      ("content-type", "application/grpc"), ("te", "trailers"),
    ] {
      arguments += ["-H", "\(name): \(value)"]
    }
    arguments.append("http://127.0.0.1:\(port)\(FirestoreMessages.service)GetDocument")
    return RowSubject(name: name) { [arguments] in try load.nanoseconds(arguments, requests: requests) }
  }

  private static func framed(_ message: [UInt8]) -> [UInt8] {
    [0] + (0..<4).reversed().map { UInt8(truncatingIfNeeded: message.count >> ($0 * 8)) } + message
  }
}

/// The load generator of nghttp2.
struct H2Load {
  let program: String

  /// The time of one request, of many on one thread. Throws unless all requests succeed.
  func nanoseconds(_ arguments: [String], requests: Int) throws -> Double {
    let output = try Tool(program, ["-t", "1", "-n", "\(requests)"] + arguments).output()
    guard output.contains(" \(requests) succeeded,"), output.contains("status codes: \(requests) 2xx"),
      let words = output.split(separator: "\n").first(where: { $0.hasPrefix("finished in") })?
        .split(separator: " "),
      words.count > 3, let rate = Double(words[3]), rate > 0
    else { throw BenchmarkFailure("h2load: not all requests succeeded\n\(output.suffix(800))") }
    return 1e9 / rate
  }
}
#endif
