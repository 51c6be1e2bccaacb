// Lines in, lines out.

import Foundation

enum Terminal {
  static let isInteractive = isatty(STDIN_FILENO) == 1

  /// What is typed, line by line, until the end of it. A thread of its own waits for it.
  static func lines() -> AsyncStream<String> {
    let (stream, continuation) = AsyncStream<String>.makeStream()
    let thread = Thread {
      while let line = readLine() { continuation.yield(line) }
      continuation.finish()
    }
    thread.start()
    return stream
  }

  static func show(_ text: String) {
    FileHandle.standardOutput.write(Data("\(text)\n".utf8))
  }

  static func complain(_ text: String) {
    FileHandle.standardError.write(Data("\(text)\n".utf8))
  }
}
