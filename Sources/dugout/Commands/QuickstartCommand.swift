// dugout quickstart: the product in a minute. A process writes a document and is killed the moment the
// write is acknowledged; another process, this one, finds it.

import Ballcap
import FirebaseFirestore
import Foundation

enum QuickstartCommand: Command {
  static let name = "quickstart"
  static let summary = "Shows in a minute what this is: writes, is killed, and finds everything"
  static let usage = "[--keep]"
  static let options = [(option: "--keep", meaning: "Leave the store behind and say where it is")]
  static let positional = 0...2

  struct User: Codable, Modelable {
    static var name: String { "users" }

    var name = ""
    var age = 0
    var tags: [String] = []
  }

  static func run(_ arguments: Arguments) async throws {
    // The tour starts this program a second time, with these two words.
    if arguments.positional.count == 2, arguments.positional[0] == writerWord {
      try await write(in: arguments.positional[1])
    } else if arguments.positional.isEmpty {
      try await tour(keepsStore: arguments.has("--keep"))
    } else {
      throw CommandFailure(code: .usage, message: "usage: \(Help.usage(Self.self))")
    }
  }

  private static let writerWord = "writer"

  // MARK: The tour

  private static func tour(keepsStore: Bool) async throws {
    let folder = Foundation.FileManager.default.temporaryDirectory
      .appendingPathComponent("dugout-quickstart-\(UUID().uuidString)")
    defer { if !keepsStore { try? Foundation.FileManager.default.removeItem(at: folder) } }

    say("1. Another process opens a new store, saves a document, and kills itself (SIGKILL)")
    say("   right after the write was acknowledged.")
    let acknowledged = try runWriter(in: folder.path)
    Terminal.print("   It said: \(acknowledged)")

    say("2. This process opens the store and reads the document.")
    configure(folder)
    let clock = ContinuousClock()
    var found: Document<User>?
    let time = try await clock.measure { found = try await read() }
    guard let user = found?.data else {
      throw CommandFailure(code: .checkFailed, message: "the acknowledged document is not there.")
    }
    Terminal.print("   users/ada: \(user.name), \(user.age), \(user.tags), read in \(time)")

    say("3. It is an ordinary document; these are its fields.")
    let snapshot = try await Firestore.firestore().document("users/ada").getDocument(source: .cache)
    for (field, value) in (snapshot.data() ?? [:]).sorted(by: { $0.key < $1.key }) {
      Terminal.print("   \(field) = \(value)")
    }
    let directory = Firestore.firestore().storeDirectory
    await withCheckedContinuation { done in FirebaseApp.app()?.delete { _ in done.resume() } }
    say("Everything that was acknowledged is there.")
    if keepsStore { Terminal.print("Look again: dugout get \"\(directory)\" users/ada") }
  }

  private static func say(_ text: String) { Terminal.print(Terminal.emphasised(text)) }

  private static func runWriter(in path: String) throws -> String {
    let process = Process()
    process.executableURL = URL(fileURLWithPath: CommandLine.arguments[0])
    if let itself = Bundle.main.executableURL { process.executableURL = itself }
    process.arguments = [name, writerWord, path]
    let output = Pipe()
    process.standardOutput = output
    try process.run()
    let said = String(decoding: output.fileHandleForReading.readDataToEndOfFile(), as: UTF8.self)
    process.waitUntilExit()
    guard process.terminationReason == .uncaughtSignal, process.terminationStatus == SIGKILL else {
      throw CommandFailure(
        code: .checkFailed, message: "the writer ended with status \(process.terminationStatus).")
    }
    return said.trimmingCharacters(in: .whitespacesAndNewlines)
  }

  // MARK: The two processes

  private static func configure(_ folder: URL) {
    FirebaseApp.configure(options: FirebaseOptions(directory: folder))
    // A command-line program serves no main loop: callbacks need another queue.
    let settings = FirestoreSettings()
    settings.dispatchQueue = DispatchQueue(label: "dugout.quickstart")
    Firestore.firestore().settings = settings
  }

  private static func write(in path: String) async throws {
    configure(URL(fileURLWithPath: path))
    let ada = Document<User>(id: "ada", from: User(name: "Ada", age: 36, tags: ["mathematics"]))
    ada.save { error in
      // No cleaning up, no flushing, not even a return: nothing after this line runs.
      Terminal.print(error.map { "failed: \($0)" } ?? "users/ada is saved")
      kill(getpid(), SIGKILL)
    }
    try await Task.sleep(for: .seconds(60))
  }

  private static func read() async throws -> Document<User>? {
    try await withCheckedThrowingContinuation { continuation in
      Document<User>.get(id: "ada") { document, error in
        nonisolated(unsafe) let document = document
        if let error {
          continuation.resume(throwing: error)
        } else {
          continuation.resume(returning: document)
        }
      }
    }
  }
}
