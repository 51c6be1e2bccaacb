// Tests that run a compiler. Each of these tests takes seconds of one core.

import Foundation
import Testing

extension Trait where Self == ConditionTrait {
  /// Marks a suite whose tests run the Swift compiler. These suites disturb the timing of the other tests, so
  /// `.ci/run` excludes them there and runs them in a separate stage.
  static var drivesCompiler: Self {
    .enabled(
      if: ProcessInfo.processInfo.environment["DUGOUT_COMPILER_TESTS"] != "later",
      "DUGOUT_COMPILER_TESTS is \"later\": another run has the tests that drive a compiler")
  }
}
