// Notes in the terminal, with tags, stored in a directory.
//
//   notes add TEXT [TAG…]    notes list              notes tagged TAG
//   notes done ID            notes remove ID         notes follow

import FirebaseFirestore

@main
struct Notes {
  static let help = "notes add TEXT [TAG…] | list | tagged TAG | done ID | remove ID | follow"

  static func main() async {
    do {
      let environment = ProcessInfo.processInfo.environment
      let folder = URL(fileURLWithPath: environment["NOTES_DIRECTORY"] ?? "notes-data")
      let firestore = try Firestore.open(at: folder)
      try await run(Array(CommandLine.arguments.dropFirst()), NoteBook(firestore))
      // Releases the lock of the directory.
      try await firestore.terminate()
    } catch FirestoreErrorCode.notFound {
      fail("There is no such note.", 1)
    } catch {
      fail(error.localizedDescription, 1)
    }
  }

  private static func fail(_ text: String, _ code: Int32) -> Never {
    FileHandle.standardError.write(Data("\(text)\n".utf8))
    exit(code)
  }

  private static func run(_ words: [String], _ book: NoteBook) async throws {
    switch (words.first, words.count) {
    case ("add", 2...): print(try await book.add(Note(text: words[1], tags: Array(words.dropFirst(2)))))
    case ("list", 1): show(try await book.open())
    case ("tagged", 2): show(try await book.tagged(words[1]))
    case ("done", 2): try await book.finish(words[1])
    case ("remove", 2): try await book.remove(words[1])
    case ("follow", 1): try await follow(book)
    default: fail(help, 2)
    }
  }

  private static func show(_ notes: [Note]) {
    if notes.isEmpty { print("nothing") }
    for note in notes {
      let mark = note.isDone ? "x" : " "
      let tags = note.tags.map { "#\($0)" }.joined(separator: " ")
      print("[\(mark)] \(note.id ?? "")  \(note.text)  \(tags)")
    }
  }

  // MARK: The open notes, live

  /// Shows the open notes after every change. At the same time, reads lines until the end of input. The word
  /// "done" followed by a number completes the note with that number; any other line adds a note.
  private static func follow(_ book: NoteBook) async throws {
    let following = Task { try await book.follow { showNumbered($0) } }
    for await line in lines() where !line.isEmpty {
      let words = line.split(separator: " ")
      if words.count == 2, words[0] == "done", let number = Int(words[1]) {
        let notes = try await book.open()
        if notes.indices.contains(number - 1), let id = notes[number - 1].id {
          try await book.finish(id)
        } else {
          FileHandle.standardError.write(Data("There is no note \(number).\n".utf8))
        }
      } else {
        _ = try await book.add(Note(text: line, tags: []))
      }
    }
    // Allows time for showing the last change.
    try await Task.sleep(for: .milliseconds(300))
    following.cancel()
  }

  /// Writes without buffering, so that output to a pipe appears at once.
  private static func showNumbered(_ notes: [Note]) {
    let lines = notes.enumerated().map { "\($0.offset + 1). \($0.element.text)\n" }
    let text = notes.isEmpty ? "nothing\n" : lines.joined()
    FileHandle.standardOutput.write(Data("--\n\(text)".utf8))
  }

  /// The lines of standard input. A separate thread reads them, because reading blocks.
  private static func lines() -> AsyncStream<String> {
    let (stream, continuation) = AsyncStream<String>.makeStream()
    let thread = Thread {
      while let line = readLine() { continuation.yield(line) }
      continuation.finish()
    }
    thread.start()
    return stream
  }
}
