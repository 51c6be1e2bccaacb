// What the tests of this module share: names nobody else uses, a folder that goes away, a message.

import FirebaseCore
import Testing

/// An app name that no other test has, since the registry of apps belongs to the whole process.
func freshName() -> String { "app-\(UUID().uuidString)" }

func plainOptions() -> FirebaseOptions { FirebaseOptions(googleAppID: "id", gcmSenderID: "sender") }

/// Configures an app under a fresh name, and deletes it when `body` is done.
func withApp<Result>(
  _ options: FirebaseOptions = plainOptions(), _ body: (FirebaseApp) throws -> Result
) throws -> Result {
  let name = freshName()
  FirebaseApp.configure(name: name, options: options)
  let app = try #require(FirebaseApp.app(name: name))
  defer { app.delete { _ in } }
  return try body(app)
}

/// A new folder, which is gone when `body` is done.
func withTemporaryFolder<Result>(_ body: (URL) throws -> Result) throws -> Result {
  let folder = FileManager.default.temporaryDirectory.appendingPathComponent(UUID().uuidString)
  try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
  defer { try? FileManager.default.removeItem(at: folder) }
  return try body(folder)
}

/// Expects that the process of an exit test said `message` before it died.
func expectMessage(
  _ message: String, from result: ExitTest.Result?,
  at location: SourceLocation = #_sourceLocation
) {
  let said = String(decoding: result?.standardErrorContent ?? [], as: UTF8.self)
  #expect(said.contains("Fatal error: \(message)\n"), "it said: \(said)", sourceLocation: location)
}
