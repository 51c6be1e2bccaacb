// Records one issue for each violated rule.

import Testing

func expectNone(_ violations: [Violation], sourceLocation: SourceLocation = #_sourceLocation) {
  for violation in violations {
    Issue.record("\(violation)", sourceLocation: sourceLocation)
  }
}
