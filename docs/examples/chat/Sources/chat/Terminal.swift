// Input and output of lines.

import Foundation

enum Terminal {
  static let isInteractive = isatty(STDIN_FILENO) == 1

  /// The lines of standard input until its end. A separate thread reads them, because reading blocks.
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
