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
  ) async throws { try await Turn.defaultApp.during(body) }
}

extension Trait where Self == DefaultAppTrait {
  static var defaultApp: Self { DefaultAppTrait() }
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
  var seen: ServerTimestamp = .pending
}
