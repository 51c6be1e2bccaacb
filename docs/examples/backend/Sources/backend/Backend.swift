// An offline-first backend: JSON over HTTP, and sync for clients that work offline, over one store.
//
//   backend DIRECTORY [PORT [ADDRESS]]
//
//   The default port 0 is any free port; the first line of output names it. The default address 127.0.0.1
//   serves this machine only.
//
//   GET /health            the health of the database, with status 503 if it cannot write
//   GET /notes             the newest notes, at most 100; with ?limit=N, at most N, and with ?tag=TAG,
//                          those with the tag
//   GET /notes/ID          one note
//   PUT /notes/ID          creates or replaces a note; the body is {"text": "…", "tags": ["…"]}
//   PATCH /notes/ID        changes the text, the tags or both
//   DELETE /notes/ID       deletes a note
//   POST /notes/ID/likes   adds one like; concurrent requests are all counted
//   POST /numbers/SERIES   draws the next number of a series; no two requests receive the same number
//
// With BACKEND_SECRET in the environment, clients that know the secret sync with the same database, as
// notes-client does. SyncServer.swift lists the variables.
//
// The server answers a PUT when the note is on stable storage. After SIGTERM or SIGINT it completes the
// requests in progress, closes the store and exits. Requests that are not complete after eight seconds
// are answered with status 503, or not at all.

@preconcurrency import Dispatch
import DugoutServer
import FirebaseFirestore
import Foundation

@main
struct Backend {
  static func main() async {
    let words = CommandLine.arguments
    guard (2...4).contains(words.count), let port = UInt16(words.count > 2 ? words[2] : "0") else {
      fail("usage: backend DIRECTORY [PORT [ADDRESS]]", 2)
    }
    let address = words.count > 3 ? words[3] : "127.0.0.1"
    do {
      try await run(URL(fileURLWithPath: words[1]), address, port)
    } catch let error as ServerError {
      fail(error.description, 1)
    } catch {
      fail(error.localizedDescription, 1)
    }
  }

  private static func run(_ folder: URL, _ address: String, _ port: UInt16) async throws {
    let firestore = try Firestore.open(at: folder)
    let notes = NotesResource(firestore)
    let server = try HTTPServer(address: address, port: port) { await notes.answer($0) }
    show("http://\(address):\(server.port)/notes")
    let sync = try await SyncServer.start(over: firestore, address: address)
    if let sync { show("sync at port \(sync.port)") }
    for await signal in Signals.stream([SIGTERM, SIGINT]) {
      show("signal \(signal): ending")
      break
    }
    // `docker stop` kills the process after ten seconds.
    async let syncEnded: Void? = sync?.stop()
    if await !server.stop(within: 8) { show("requests are still in progress") }
    _ = try await syncEnded
    try await firestore.terminate()
    show("Good-bye.")
  }

  /// Writes without buffering, so that output to a pipe appears at once.
  private static func show(_ text: String) { FileHandle.standardOutput.write(Data("\(text)\n".utf8)) }

  private static func fail(_ text: String, _ code: Int32) -> Never {
    FileHandle.standardError.write(Data("\(text)\n".utf8))
    exit(code)
  }
}

/// Delivers signals as a sequence and disables their default actions.
enum Signals {
  static func stream(_ signals: [Int32]) -> AsyncStream<Int32> {
    let (stream, continuation) = AsyncStream<Int32>.makeStream()
    let queue = DispatchQueue(label: "backend.signals")
    let sources = signals.map { number in
      signal(number, SIG_IGN)
      let source = DispatchSource.makeSignalSource(signal: number, queue: queue)
      source.setEventHandler { continuation.yield(number) }
      source.resume()
      return source
    }
    continuation.onTermination = { _ in for source in sources { source.cancel() } }
    return stream
  }
}
