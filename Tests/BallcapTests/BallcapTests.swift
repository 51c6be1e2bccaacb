// The suite of the Ballcap tests. The tests run one after another, because collections belong to the default
// app and a process has only one default app.

import Ballcap
import FirebaseFirestore
import Foundation
import Harness
import Testing

@Suite(.serialized, .timeLimit(.minutes(5)), .defaultApp) enum BallcapTests {}

/// Prevents the suite from running at the same time as tests of other modules that also need the default app.
struct DefaultAppTrait: SuiteTrait, TestScoping {
  func provideScope(
    for test: Test, testCase: Test.Case?, performing body: @Sendable () async throws -> Void
  ) async throws { try await AsyncMutex.defaultApp.during(body) }
}

extension Trait where Self == DefaultAppTrait {
  static var defaultApp: Self { DefaultAppTrait() }
}

/// Returns the error that a call passes to its completion.
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

/// A model with fields whose values a commit computes.
struct Counter: Codable, Modelable {
  var hits: IncrementableInt = 0
  var weight: IncrementableDouble = 0.0
  var names: OperableArray<String> = []
  var seen: ServerTimestamp = .pending
}
