// A session of WebChannel over two connections of HTTP/1.1, as a browser has it.

#if Server
import Foundation

/// A stream of Firestore by WebChannel. Its back channel has a thread.
final class ChannelStream: @unchecked Sendable {
  // Why `@unchecked Sendable` is correct: the thread of the back channel uses `reader`, and the thread that
  // measures uses `next`. `isClosed` is protected by the lock. Nothing else is assigned after initialization.
  typealias Handler = @Sendable (UnsafeRawBufferPointer) -> Void

  private let lock = NSLock()
  private var isClosed = false
  private let method: String
  private let forward: ChannelConnection
  private let back: ChannelConnection
  private let session: String
  private var reader = ChannelArrayReader()
  private var next = 1
  private let ended = DispatchSemaphore(value: 0)

  /// Opens a session with its first request. `onMessage` is called on the thread of the back channel.
  init(_ port: Int, _ method: String, _ first: String, onMessage: @escaping Handler) throws {
    self.method = method
    forward = try ChannelConnection(port)
    back = try ChannelConnection(port)
    var reader = ChannelArrayReader()
    var answer = ""
    try forward.answer(
      "POST", Self.target(method, "RID=1&CVER=22"), body: Self.form(Self.encoded(first), number: 0)
    ) {
      try reader.take($0) { answer = String(decoding: $0, as: UTF8.self) }
    }
    let words = answer.split(separator: "\"", omittingEmptySubsequences: false)
    guard words.count > 3, words[1] == "c" else {
      throw BenchmarkFailure("WebChannel opens no session: \(answer)")
    }
    session = String(words[3])
    self.reader = reader
    let thread = Thread { [self] in receive(onMessage) }
    thread.name = "back channel"
    thread.start()
  }

  /// The bytes of both connections, in both directions.
  var bytes: Int { forward.bytes + back.bytes }

  /// Sends a message, for which `encoded` was called.
  func send(encoded message: String) throws {
    try forward.answer("POST", target("AID=0&RID=\(next + 1)"), body: Self.form(message, number: next)) { _ in
    }
    next += 1
  }

  /// Ends the session, and waits for the thread.
  func close() {
    lock.withLock { isClosed = true }
    do {
      try forward.answer("POST", target("AID=0&RID=\(next + 1)&TYPE=terminate"), body: []) { _ in }
    } catch {
      Progress.say("a session of WebChannel does not end: \(error)")
    }
    back.shutDown()
    ended.wait()
  }

  // MARK: The back channel

  private func receive(_ onMessage: Handler) {
    defer { ended.signal() }
    do {
      while !(lock.withLock { isClosed }) {
        try back.answer("GET", target("RID=rpc&CI=0&TYPE=xmlhttp&AID=\(reader.last)")) { bytes in
          try reader.take(bytes, onArray: onMessage)
        }
        guard reader.isBetweenPieces else { throw BenchmarkFailure("a back channel ends within a piece") }
      }
    } catch {
      if !(lock.withLock { isClosed }) { Progress.say("a back channel ends: \(error)") }
    }
  }

  // MARK: Requests

  private func target(_ parameters: String) -> String {
    Self.target(method, "SID=\(session)&\(parameters)")
  }

  private static func target(_ method: String, _ parameters: String) -> String {
    let database = encoded(FirestoreMessages.database)
    return "\(FirestoreMessages.service)\(method)/channel?VER=8&database=\(database)&\(parameters)&zx=a1&t=1"
  }

  private static func form(_ message: String, number: Int) -> [UInt8] {
    Array("count=1&ofs=\(number)&req0___data__=\(message)".utf8)
  }

  /// A text in a form, as browsers write it.
  static func encoded(_ text: String) -> String {
    text.addingPercentEncoding(
      withAllowedCharacters: .alphanumerics.union(CharacterSet(charactersIn: "-_.!~*'()"))) ?? ""
  }
}
#endif
