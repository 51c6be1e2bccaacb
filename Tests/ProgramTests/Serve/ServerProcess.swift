// A running `dugout serve`, and plain requests to it.

import Foundation

/// A server that accepts requests. It is killed if the test ends earlier.
final class ServerProcess {
  struct End {
    var status: Int32
    var reason: Process.TerminationReason
    var complaint: String
  }

  private let process = Process()
  private let output = Pipe()
  private let complaints = Pipe()
  private var complaint = ""
  /// The lines that the server has printed: its address, and for an emulator the variable of clients.
  private(set) var lines: [String] = []
  private(set) var port = 0

  var id: Int32 { process.processIdentifier }

  convenience init(_ arguments: String...) throws { try self.init(arguments) }

  /// Waits until the server has printed its address.
  init(_ arguments: [String]) throws {
    process.executableURL = URL(fileURLWithPath: Program("dugout").path)
    process.arguments = ["serve"] + arguments
    process.standardInput = FileHandle.nullDevice
    process.standardOutput = output
    process.standardError = complaints
    try process.run()
    let count = arguments.contains("--emulator") ? 2 : 1
    var text = ""
    while text.count(where: { $0 == "\n" }) < count {
      let data = output.fileHandleForReading.availableData
      guard !data.isEmpty else {
        throw CocoaError(.executableLoad, userInfo: [NSDebugDescriptionErrorKey: end().complaint])
      }
      text += String(decoding: data, as: UTF8.self)
    }
    lines = text.split(separator: "\n").map(String.init)
    let digits = lines[0].split(separator: ",")[0].split(separator: ":").last ?? ""
    port = Int(digits) ?? 0
  }

  deinit { if process.isRunning { kill(id, SIGKILL) } }

  func send(_ signal: Int32) { kill(id, signal) }

  /// Reads the standard error output until it has a text. Returns false if it ends before.
  func complaint(until text: String) -> Bool {
    while !complaint.contains(text) {
      let data = complaints.fileHandleForReading.availableData
      guard !data.isEmpty else { return false }
      complaint += String(decoding: data, as: UTF8.self)
    }
    return true
  }

  /// Waits for the end of the process.
  func end() -> End {
    let rest = complaints.fileHandleForReading.readDataToEndOfFile()
    process.waitUntilExit()
    complaint += String(decoding: rest, as: UTF8.self)
    return End(status: process.terminationStatus, reason: process.terminationReason, complaint: complaint)
  }

  // MARK: Requests

  /// A connection to a port of this machine.
  final class Connection {
    private let descriptor: Int32

    init(port: Int) throws {
      var hints = addrinfo()
      hints.ai_family = AF_INET
      hints.ai_flags = AI_NUMERICHOST
      var found: UnsafeMutablePointer<addrinfo>?
      guard getaddrinfo("127.0.0.1", "\(port)", &hints, &found) == 0, let address = found else {
        throw POSIXError(.EADDRNOTAVAIL)
      }
      defer { freeaddrinfo(found) }
      descriptor = socket(AF_INET, address.pointee.ai_socktype, 0)
      guard descriptor >= 0,
        Foundation.connect(descriptor, address.pointee.ai_addr, address.pointee.ai_addrlen) == 0
      else { throw POSIXError(.ECONNREFUSED) }
    }

    func write(_ text: String) {
      var rest = Array(text.utf8)[...]
      while !rest.isEmpty {
        let count = rest.withUnsafeBytes { Foundation.write(descriptor, $0.baseAddress, $0.count) }
        guard count > 0 else { return }
        rest = rest.dropFirst(count)
      }
    }

    /// Reads until the server closes the connection.
    func readToEnd() -> String {
      var bytes: [UInt8] = []
      var part = [UInt8](repeating: 0, count: 4096)
      while true {
        let count = read(descriptor, &part, part.count)
        guard count > 0 else { return String(decoding: bytes, as: UTF8.self) }
        bytes += part.prefix(count)
      }
    }

    func close() { Foundation.close(descriptor) }
  }

  func connect(_ port: Int) throws -> Connection { try Connection(port: port) }

  /// The whole answer to a request.
  func get(_ target: String, port: Int, secret: String? = nil) throws -> String {
    try answer(
      "GET \(target) HTTP/1.1\r\n" + (secret.map { "Authorization: Bearer \($0)\r\n" } ?? ""), port: port)
  }

  func post(_ target: String, _ body: String, port: Int) throws -> String {
    try answer("POST \(target) HTTP/1.1\r\nContent-Length: \(body.utf8.count)\r\n", body, port: port)
  }

  private func answer(_ head: String, _ body: String = "", port: Int) throws -> String {
    let connection = try connect(port)
    defer { connection.close() }
    connection.write("\(head)Host: localhost:\(port)\r\nConnection: close\r\n\r\n\(body)")
    return connection.readToEnd()
  }
}
