// What lists cannot tell, of documents that were removed and came again, the times of the commits do: planted histories
// of which each has one read that does not fit.

import Testing

@testable import Harness

@Suite struct ClaimedOrderTests {
  private typealias Transaction = RecordedTransaction

  /// Document 1 is made at 1, removed at 2, and made again at 3.
  private let comesAndGoes = [
    Transaction(appends: [.init(1, 10)], outcome: .committed(1)),
    Transaction(appends: [.init(1, 0, isRemoval: true)], outcome: .committed(2)),
    Transaction(appends: [.init(1, 11)], outcome: .committed(3)),
  ]

  private func violation(_ more: RecordedTransaction) -> String? {
    ClaimedOrder.violation(in: comesAndGoes + [more])
  }

  @Test func readsOfWhatWasThereFit() {
    #expect(ClaimedOrder.violation(in: comesAndGoes) == nil)
    for elements in [[], [10], [11]] {
      #expect(violation(Transaction(items: [.init(1, elements)])) == nil)
      let found = elements.isEmpty ? [:] : [1: elements]
      #expect(violation(Transaction(ranges: [.init(0..<1, found)])) == nil)
    }
    #expect(violation(Transaction(items: [.init(1, [])], outcome: .committed(2))) == nil)
  }

  /// As if the removal had left something behind.
  @Test func aListThatGoesOnBehindARemovalIsSeen() {
    #expect(violation(Transaction(items: [.init(1, [10, 11])])) != nil)
  }

  @Test func aRemovedDocumentThatAQueryStillFindsIsSeen() {
    let stale = Transaction(ranges: [.init(0..<1, [1: [10]])], outcome: .committed(2))
    #expect(violation(stale)?.hasPrefix("at 2: ") == true)
    let phantom = Transaction(ranges: [.init(0..<1, [:])], appends: [.init(2, 20)], outcome: .committed(4))
    #expect(violation(phantom)?.hasPrefix("at 4: ") == true)
  }

  /// Each read was true at some time, and both at none.
  @Test func readsOfTwoTimesAreSeen() {
    let history =
      comesAndGoes + [
        Transaction(appends: [.init(2, 20)], outcome: .committed(4)),
        Transaction(items: [.init(1, [10]), .init(2, [20])]),
      ]
    #expect(ClaimedOrder.violation(in: history)?.hasPrefix("at no time was all this so: ") == true)
  }

  /// One that wrote has read what was there just before it.
  @Test func aWriterThatReadAnOldStateIsSeen() {
    let late = Transaction(items: [.init(1, [10])], appends: [.init(2, 20)], outcome: .committed(3))
    #expect(violation(late) != nil)
    let inTime = Transaction(items: [.init(1, [11])], appends: [.init(2, 20)], outcome: .committed(4))
    #expect(violation(inTime) == nil)
  }

  @Test func aLimitThatLeftOutTheFirstIsSeen() {
    var range = RecordedTransaction.RangeRead(0..<1, [3: [30]])
    range.limit = 1
    let history = [
      Transaction(appends: [.init(1, 10), .init(3, 30)], outcome: .committed(1)),
      Transaction(ranges: [range]),
    ]
    #expect(ClaimedOrder.violation(in: history) != nil)
  }
}
