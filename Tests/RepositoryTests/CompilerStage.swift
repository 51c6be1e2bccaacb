// Tests that drive a compiler, which take seconds of a core each.

import Foundation
import Testing

extension Trait where Self == ConditionTrait {
  /// Marks a suite whose tests run the Swift compiler. `.ci/run` leaves these suites out of the other tests,
  /// whose timing they disturb, and runs them in a stage of their own.
  static var drivesCompiler: Self {
    .enabled(
      if: ProcessInfo.processInfo.environment["DUGOUT_COMPILER_TESTS"] != "later",
      "DUGOUT_COMPILER_TESTS is \"later\": another run has the tests that drive a compiler")
  }
}
