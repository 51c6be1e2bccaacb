// The checks of the fuzz target for calls find answers that are not those of a method.

import Testing

@testable import FirestoreService
@testable import FirestoreWire
@testable import Harness

@Suite struct ServiceMethodsTests {
  private func method(_ name: String) throws -> ServiceMethods.Method {
    try #require(ServiceMethods.all.first { $0.name == name })
  }

  @Test(arguments: WireFormat.allCases) func anAnswerOfAnotherTypeIsFound(_ format: WireFormat) throws {
    var response = Wire.BeginTransactionResponse()
    response.transaction = [0xFF]
    let bytes = try format.encode(response)
    try method("BeginTransaction").check(bytes, format)
    for other in ["GetDocument", "DeleteDocument", "Commit", "Listen", "ExecutePipeline"] {
      #expect(throws: FuzzFinding.self) { try method(other).check(bytes, format) }
    }
  }

  @Test func aCallHasTheNumberOfAnswersOfItsMethod() throws {
    try method("Commit").check(answers: 1, nil)
    for count in [0, 2] {
      #expect(throws: FuzzFinding.self) { try method("Commit").check(answers: count, nil) }
    }
    #expect(throws: FuzzFinding.self) { try method("ExecutePipeline").check(answers: 0, nil) }
  }
}
