// Histories with deleted and recreated documents, whose order only the commit times determine.
//
// Each history has one read that contradicts this order.

import Testing

@testable import Harness

@Suite struct ClaimedOrderTests {
  private typealias Transaction = RecordedTransaction

  /// Document 1 is created at time 1, deleted at time 2, and created again at time 3.
  private let comesAndGoes = [
    Transaction(appends: [.init(1, 10)], outcome: .committed(1)),
    Transaction(appends: [.init(1, 0, isRemoval: true)], outcome: .committed(2)),
    Transaction(appends: [.init(1, 11)], outcome: .committed(3)),
  ]

  private func violation(_ more: RecordedTransaction) -> String? {
    ClaimedOrder.violation(in: comesAndGoes + [more])
  }

  @Test func readsOfExistingStatesAreAccepted() {
    #expect(ClaimedOrder.violation(in: comesAndGoes) == nil)
    var reads: [RecordedTransaction] = []
    for elements in [[], [10], [11]] {
      reads.append(Transaction(items: [.init(1, elements)]))
      let found = elements.isEmpty ? [:] : [1: elements]
      reads.append(Transaction(ranges: [.init(0..<1, found)]))
    }
    #expect(reads.compactMap { violation($0) } == [])
    #expect(violation(Transaction(items: [.init(1, [])], outcome: .committed(2))) == nil)
  }

  /// The read looks as if part of the list had survived the deletion.
  @Test func readOfAPartlyDeletedListIsDetected() {
    #expect(violation(Transaction(items: [.init(1, [10, 11])])) != nil)
  }

  @Test func aDeletedDocumentInAQueryResultIsDetected() {
    let stale = Transaction(ranges: [.init(0..<1, [1: [10]])], outcome: .committed(2))
    #expect(violation(stale)?.hasPrefix("at 2: ") == true)
    let phantom = Transaction(ranges: [.init(0..<1, [:])], appends: [.init(2, 20)], outcome: .committed(4))
    #expect(violation(phantom)?.hasPrefix("at 4: ") == true)
  }

  /// Each read was correct at some time, but at no time were both reads correct.
  @Test func readsFromTwoTimesAreDetected() {
    let history =
      comesAndGoes + [
        Transaction(appends: [.init(2, 20)], outcome: .committed(4)),
        Transaction(items: [.init(1, [10]), .init(2, [20])]),
      ]
    #expect(ClaimedOrder.violation(in: history)?.hasPrefix("this was never all true at one time: ") == true)
  }

  /// A transaction that wrote must have read the state just before its commit.
  @Test func aWriterThatReadAnOldStateIsDetected() {
    let late = Transaction(items: [.init(1, [10])], appends: [.init(2, 20)], outcome: .committed(3))
    #expect(violation(late) != nil)
    let inTime = Transaction(items: [.init(1, [11])], appends: [.init(2, 20)], outcome: .committed(4))
    #expect(violation(inTime) == nil)
  }

  @Test func limitedReadThatOmitsTheFirstDocumentIsDetected() {
    var range = RecordedTransaction.RangeRead(0..<1, [3: [30]])
    range.limit = 1
    let history = [
      Transaction(appends: [.init(1, 10), .init(3, 30)], outcome: .committed(1)),
      Transaction(ranges: [range]),
    ]
    #expect(ClaimedOrder.violation(in: history) != nil)
  }
}
