// The tests of the Ballcap layer: one after the other, since collections are named through the default app, of which
// a process has one.

import Ballcap
import FirebaseFirestore
import Foundation
import Harness
import Testing

@Suite(.serialized, .timeLimit(.minutes(5)), .defaultApp) enum BallcapTests {}

/// The tests of other modules that need the default app, too, run before or after these.
struct DefaultAppTrait: SuiteTrait, TestScoping {
  func provideScope(
    for test: Test, testCase: Test.Case?, performing body: @Sendable () async throws -> Void
  ) async throws {
    await Turn.defaultApp.take()
    let result: Result<Void, any Error>
    do { result = .success(try await body()) } catch { result = .failure(error) }
    await Turn.defaultApp.giveBack()
    try result.get()
  }
}

extension Trait where Self == DefaultAppTrait {
  static var defaultApp: Self { DefaultAppTrait() }
}

/// The default app with an empty database, for one test.
final class TestApp {
  let folder = Foundation.FileManager.default.temporaryDirectory
    .appendingPathComponent("dugout-test-\(UUID().uuidString)")
  static let queueKey = DispatchSpecificKey<Bool>()

  init() { start() }

  deinit {
    FirebaseApp.app()?.delete { _ in }
    try? Foundation.FileManager.default.removeItem(at: folder)
  }

  private func start() {
    FirebaseApp.configure(options: FirebaseOptions(directory: folder))
    let settings = FirestoreSettings()
    let queue = DispatchQueue(label: "dugout.test.callbacks")
    queue.setSpecific(key: Self.queueKey, value: true)
    settings.dispatchQueue = queue
    Firestore.firestore().settings = settings
  }

  func restart() async {
    await withCheckedContinuation { done in FirebaseApp.app()?.delete { _ in done.resume() } }
    start()
  }

  /// Runs `body` where the callbacks run, so that it sees what they did.
  func onCallbackQueue<Value>(_ body: () -> Value) -> Value {
    Firestore.firestore().settings.dispatchQueue.sync(execute: body)
  }

  static var isCallbackQueue: Bool { DispatchQueue.getSpecific(key: queueKey) == true }
}

/// What closures were called with, for tests that await it.
final class Heard<Value>: @unchecked Sendable {
  // Unchecked: one side yields, the other awaits, and values are handed over.
  private struct Item: @unchecked Sendable { var value: Value }
  private let continuation: AsyncStream<Item>.Continuation
  private var iterator: AsyncStream<Item>.Iterator

  init() {
    let (stream, continuation) = AsyncStream<Item>.makeStream()
    self.continuation = continuation
    iterator = stream.makeAsyncIterator()
  }

  func hear(_ value: Value) { continuation.yield(Item(value: value)) }

  func next() async -> Value { await iterator.next(isolation: nil)!.value }
}

/// The error of a call with a completion.
func outcome(_ call: (@escaping ((any Error)?) -> Void) -> Void) async -> (any Error)? {
  await withCheckedContinuation { done in call { done.resume(returning: $0) } }
}

struct User: Codable, Modelable {
  static var name: String { "users" }

  var name = ""
  var age = 0
  var tags: [String] = []
}

struct Plain: Codable, Modelable {
  var value = -4.0
  var list = ["a"]
}

/// Counts that commits change.
struct Counter: Codable, Modelable {
  var hits: IncrementableInt = 0
  var weight: IncrementableDouble = 0.0
  var names: OperableArray<String> = []
  var seen: Ballcap.ServerTimestamp = .pending
}
