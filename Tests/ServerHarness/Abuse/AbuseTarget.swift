// The server that is attacked, and what it says about itself.

#if Server
import Foundation
import HTTPTransport
package import FirestoreWire

/// A running server of this machine. Usable from any thread.
package struct AbuseTarget: Sendable {
  package let port: Int
  package let adminPort: Int
  /// The certificate that clients trust; nil if the server does not encrypt.
  package let trustedFile: String?
  /// The process of the server.
  package let process: Int32
  package let database = DatabaseName(projectID: "demo-abuse", databaseID: "(default)")

  /// Documents whose query has a large answer.
  package static let bigCollection = "big"
  /// The message of that query.
  let bigQuery: [UInt8]

  package init(port: Int, adminPort: Int, trustedFile: String? = nil, process: Int32) {
    self.port = port
    self.adminPort = adminPort
    self.trustedFile = trustedFile
    self.process = process
    var selector = Wire.StructuredQuery.CollectionSelector()
    selector.collectionId = Self.bigCollection
    var request = Wire.RunQueryRequest()
    request.parent = database.documentsName
    request.structuredQuery = Wire.StructuredQuery()
    request.structuredQuery?.from = [selector]
    bigQuery = (try? FirestoreClient.bytes(request)) ?? []
  }

  package var isEncrypted: Bool { trustedFile != nil }

  // MARK: Metrics

  /// The values of the metrics by name and labels. Nil if the admin listener does not answer.
  package func metrics() -> [String: Int]? {
    guard let socket = AttackSocket(port: adminPort) else { return nil }
    socket.send(Array("GET /metrics HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n".utf8))
    let text = String(decoding: socket.receiveAll(seconds: 5), as: UTF8.self)
    guard text.hasPrefix("HTTP/1.1 200") else { return nil }
    var values: [String: Int] = [:]
    for line in text.split(separator: "\n") where line.hasPrefix("dugout_") {
      let words = line.split(separator: " ")
      if words.count == 2, let value = Double(words[1].trimmingCharacters(in: .whitespaces)) {
        values[String(words[0])] = Int(value)
      }
    }
    return values
  }

  /// The refusals by their reason.
  package static func refusals(_ metrics: [String: Int]) -> [String: Int] {
    var counts: [String: Int] = [:]
    for (name, count) in metrics where name.hasPrefix("dugout_refusals_total{") && count > 0 {
      counts[name.split(separator: "\"").dropFirst().first.map(String.init) ?? name] = count
    }
    return counts
  }

  package static let openConnections = "dugout_connections_open"

  // MARK: The process

  package var residentBytes: Int {
    let words = text("statm").split(separator: " ")
    return words.count > 1 ? (Int(words[1]) ?? 0) * Int(sysconf(Int32(_SC_PAGESIZE))) : 0
  }

  package var descriptorCount: Int {
    ((try? FileManager.default.contentsOfDirectory(atPath: "/proc/\(process)/fd")) ?? []).count
  }

  /// The time that the process has used on processors.
  package var processorSeconds: Double {
    // The name of the program may contain spaces, and ends with a parenthesis.
    let words = text("stat").split(separator: ")").last?.split(separator: " ") ?? []
    guard words.count > 12, let user = Double(words[11]), let system = Double(words[12]) else { return 0 }
    return (user + system) / Double(sysconf(Int32(_SC_CLK_TCK)))
  }

  private func text(_ name: String) -> String {
    guard let file = FileHandle(forReadingAtPath: "/proc/\(process)/\(name)") else { return "" }
    defer { try? file.close() }
    return String(decoding: (try? file.readToEnd()) ?? Data(), as: UTF8.self)
  }

  // MARK: Clients

  package func client() throws -> FirestoreClient {
    guard let trustedFile else { return try FirestoreClient(port: port, database: database) }
    #if TLS
    let context = try TLSClientContext(trustedFile: trustedFile)
    return try FirestoreClient(port: port, database: database) { try TLSCipher(context) }
    #else
    throw GRPCClientError("this program has no TLS, for \(trustedFile)")
    #endif
  }
}
#endif
