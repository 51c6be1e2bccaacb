// Shared helpers: unique app names, temporary folders and expected messages.

import FirebaseCore
import Testing

/// Returns a unique app name, because the registry of apps belongs to the whole process.
func freshName() -> String { "app-\(UUID().uuidString)" }

func plainOptions() -> FirebaseOptions { FirebaseOptions(googleAppID: "id", gcmSenderID: "sender") }

/// Configures an app with a unique name, and deletes it after `body`.
func withApp<Result>(
  _ options: FirebaseOptions = plainOptions(), _ body: (FirebaseApp) throws -> Result
) throws -> Result {
  let name = freshName()
  FirebaseApp.configure(name: name, options: options)
  let app = try #require(FirebaseApp.app(name: name))
  defer { app.delete { _ in } }
  return try body(app)
}

/// Creates a folder, and deletes it after `body`.
func withTemporaryFolder<Result>(_ body: (URL) throws -> Result) throws -> Result {
  let folder = FileManager.default.temporaryDirectory.appendingPathComponent(UUID().uuidString)
  try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
  defer { try? FileManager.default.removeItem(at: folder) }
  return try body(folder)
}

/// Expects that the process of an exit test printed `message` before it ended.
func expectMessage(
  _ message: String, from result: ExitTest.Result?,
  at location: SourceLocation = #_sourceLocation
) {
  let said = String(decoding: result?.standardErrorContent ?? [], as: UTF8.self)
  #expect(said.contains("Fatal error: \(message)\n"), "it said: \(said)", sourceLocation: location)
}
