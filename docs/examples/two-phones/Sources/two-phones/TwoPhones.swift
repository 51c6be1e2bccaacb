// Two phones and a server, each a process: a conversation that survives the death of any of them.
//
//   two-phones                               runs the story, which starts the other processes
//   two-phones server DIRECTORY PORT         the server; port 0 is any free port
//   two-phones phone NAME DIRECTORY PORT     a phone, which reads commands from standard input
//
// The story ends with status 1 if a message was lost, if one was counted twice, or if the phones show
// different conversations.

import Foundation

@main
struct TwoPhones {
  static func main() async {
    let words = Array(CommandLine.arguments.dropFirst())
    do {
      switch (words.first, words.count) {
      case (nil, 0): try await Story.run()
      case ("server", 3): try await ConversationServer.run(words[1], port: number(words[2]))
      case ("phone", 4): try await Phone.run(words[1], in: words[2], port: number(words[3]))
      default: fail("usage: two-phones [server DIRECTORY PORT | phone NAME DIRECTORY PORT]", 2)
      }
    } catch {
      fail("\(words.first ?? "story"): \(error)", 1)
    }
  }

  private static func number(_ text: String) -> Int {
    guard let number = UInt16(text) else { fail("\(text) is no port", 2) }
    return Int(number)
  }

  static func fail(_ text: String, _ code: Int32) -> Never {
    FileHandle.standardError.write(Data("\(text)\n".utf8))
    exit(code)
  }
}

/// Lines between the processes.
enum Lines {
  /// Writes without buffering, so that output to a pipe appears at once. Without a reader, the process ends.
  static func write(_ text: String) {
    do { try FileHandle.standardOutput.write(contentsOf: Data("\(text)\n".utf8)) } catch { exit(1) }
  }

  /// The lines of standard input until its end. A thread of its own reads them, because reading blocks.
  static func read() -> AsyncStream<String> {
    let (stream, continuation) = AsyncStream<String>.makeStream()
    Thread.detachNewThread {
      while let line = readLine() { continuation.yield(line) }
      continuation.finish()
    }
    return stream
  }
}
