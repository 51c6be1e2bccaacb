// Notes in the terminal: typed, tagged, kept in a directory.
//
//   notes add TEXT [TAG…]    notes list    notes tagged TAG    notes done ID    notes remove ID    notes follow

import FirebaseFirestore

@main
struct Notes {
  static let help = "notes add TEXT [TAG…] | list | tagged TAG | done ID | remove ID | follow"

  static func main() async throws {
    let environment = ProcessInfo.processInfo.environment
    let folder = URL(fileURLWithPath: environment["NOTES_DIRECTORY"] ?? "notes-data")
    let firestore = try Firestore.open(at: folder)
    let book = NoteBook(firestore)
    do {
      try await run(Array(CommandLine.arguments.dropFirst()), book)
    } catch FirestoreErrorCode.notFound {
      print("There is no such note.")
    }
    // Lets go of the directory.
    try await firestore.terminate()
  }

  private static func run(_ words: [String], _ book: NoteBook) async throws {
    switch (words.first, words.count) {
    case ("add", 2...): print(try await book.add(Note(text: words[1], tags: Array(words.dropFirst(2)))))
    case ("list", 1): show(try await book.open())
    case ("tagged", 2): show(try await book.tagged(words[1]))
    case ("done", 2): try await book.finish(words[1])
    case ("remove", 2): try await book.remove(words[1])
    case ("follow", 1):
      try await book.follow { notes in
        show(notes)
        return true
      }
    default: print(help)
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
}
