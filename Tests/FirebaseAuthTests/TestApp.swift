// An app for one test, in a folder that is deleted afterwards, and what its listeners receive.

import ByteStore
import Dispatch
import FirebaseAuth
import FirebaseCore
import Foundation
import Testing

final class TestApp {
  let folder = FileManager.default.temporaryDirectory.appendingPathComponent("auth-\(UUID().uuidString)")
  private let name = "auth-\(UUID().uuidString)"
  /// The callback queue, which a test can wait for and suspend.
  let queue = DispatchQueue(label: "dugout.test.auth")
  private(set) var app: FirebaseApp

  init() throws {
    FirebaseApp.configure(name: name, options: FirebaseOptions(directory: folder))
    app = try #require(FirebaseApp.app(name: name))
    auth.callbackQueue = queue
  }

  deinit {
    app.delete { _ in }
    try? FileManager.default.removeItem(at: folder)
  }

  var auth: Auth { Auth.auth(app: app) }

  /// The file with the user.
  var file: URL { URL(fileURLWithPath: StoreLocation.directory(app: app) + "/user.json") }

  /// Deletes the app, and configures it again with the same name and folder.
  func restart() throws {
    app.delete { _ in }
    FirebaseApp.configure(name: name, options: FirebaseOptions(directory: folder))
    app = try #require(FirebaseApp.app(name: name))
    auth.callbackQueue = queue
  }

  /// Returns once the callback queue has run everything that is enqueued now.
  func drain() async {
    await withCheckedContinuation { done in queue.async { done.resume() } }
  }
}

/// The users that a listener has received, by ID.
final class ReceivedUsers: Sendable {
  private let users = Locked<[String?]>([])

  var ids: [String?] { users.withLock { $0 } }

  func add(_ user: User?) { users.withLock { $0.append(user?.uid) } }
}

/// The numbers that a callback has received.
final class Counts: Sendable {
  private let counts = Locked<[Int]>([])

  var all: [Int] { counts.withLock { $0 } }

  func add(_ count: Int) { counts.withLock { $0.append(count) } }
}

/// Returns the error of a call.
func failure(
  _ body: () async throws -> Void, at location: SourceLocation = #_sourceLocation
) async -> NSError? {
  do {
    try await body()
    Issue.record("The call did not fail.", sourceLocation: location)
    return nil
  } catch {
    return error as NSError
  }
}

func expect(
  _ code: AuthErrorCode, saying text: String = "", at location: SourceLocation = #_sourceLocation,
  from body: () async throws -> Void
) async {
  let error = await failure(body, at: location)
  #expect(error?.domain == AuthErrorDomain && error?.code == code.rawValue, sourceLocation: location)
  #expect(
    text.isEmpty || error?.localizedDescription.contains(text) == true, "\(String(describing: error))",
    sourceLocation: location)
}
