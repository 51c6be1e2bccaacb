// The history checker finds each kind of anomaly in prepared histories, and none in a correct one.

import Harness
import Testing

@Suite("The checker of histories")
struct HistoryCheckerTests {
  private typealias Transaction = RecordedTransaction

  private func kinds(_ history: [RecordedTransaction], final: [Int: [Int]] = [:]) -> [Anomaly.Kind] {
    HistoryChecker.anomalies(in: history, final: final).map(\.kind)
  }

  @Test("a serial history is good")
  func serialHistoryIsAccepted() {
    let history = [
      Transaction(appends: [.init(1, 10), .init(2, 20)]),
      Transaction(items: [.init(1, [10])], appends: [.init(1, 11)]),
      Transaction(
        items: [.init(1, [10, 11]), .init(2, [20])], ranges: [.init(0..<1, [1: [10, 11], 2: [20]])]),
    ]
    #expect(kinds(history, final: [1: [10, 11], 2: [20]]) == [])
  }

  @Test("reads of an old state together are good, if they are of the same one")
  func readsOfOneOldSnapshotAreAccepted() {
    let history = [
      Transaction(appends: [.init(1, 10), .init(2, 20)]),
      Transaction(items: [.init(1, []), .init(2, [])], ranges: [.init(0..<1, [:])]),
    ]
    #expect(kinds(history, final: [1: [10], 2: [20]]) == [])
  }

  @Test("G0: two transactions that wrote two documents in different orders")
  func writeCycle() {
    let history = [
      Transaction(appends: [.init(1, 10), .init(2, 20)]), Transaction(appends: [.init(1, 11), .init(2, 21)]),
    ]
    #expect(kinds(history, final: [1: [10, 11], 2: [21, 20]]).contains(.g0))
  }

  @Test("G1a: a read of what an aborted transaction wrote")
  func abortedRead() {
    let history = [
      Transaction(appends: [.init(1, 10)], outcome: .aborted), Transaction(items: [.init(1, [10])]),
    ]
    #expect(kinds(history).contains(.g1a))
  }

  @Test("G1b: a read of an intermediate write of a transaction")
  func intermediateRead() {
    let history = [
      Transaction(appends: [.init(1, 10), .init(1, 11)]), Transaction(items: [.init(1, [10])]),
    ]
    #expect(kinds(history, final: [1: [10, 11]]).contains(.g1b))
  }

  @Test("G1c: two transactions that read each other's writes")
  func informationCycle() {
    let history = [
      Transaction(items: [.init(2, [20])], appends: [.init(1, 10)]),
      Transaction(items: [.init(1, [10])], appends: [.init(2, 20)]),
    ]
    #expect(kinds(history, final: [1: [10], 2: [20]]).contains(.g1c))
  }

  @Test("G-single: a read of one document before and of another after the same commit")
  func readSkew() {
    let history = [
      Transaction(appends: [.init(1, 10), .init(2, 20)]), Transaction(items: [.init(1, [10]), .init(2, [])]),
    ]
    #expect(kinds(history, final: [1: [10], 2: [20]]) == [.gSingle])
  }

  @Test("G-single: an update that is lost")
  func lostUpdate() {
    let history = [
      Transaction(items: [.init(1, [])], appends: [.init(1, 10)]),
      Transaction(items: [.init(1, [])], appends: [.init(1, 11)]),
    ]
    #expect(kinds(history, final: [1: [10, 11]]) == [.gSingle])
  }

  @Test("G-single: a query that sees a half of a commit")
  func queryThatSeesHalfOfACommitIsDetected() {
    let history = [
      Transaction(appends: [.init(1, 10), .init(2, 20)]), Transaction(ranges: [.init(0..<1, [1: [10]])]),
    ]
    #expect(kinds(history, final: [1: [10], 2: [20]]) == [.gSingle])
  }

  @Test("G2-item: two transactions that read both documents and write one each")
  func writeSkew() {
    let history = [
      Transaction(items: [.init(1, []), .init(2, [])], appends: [.init(1, 10)]),
      Transaction(items: [.init(1, []), .init(2, [])], appends: [.init(2, 20)]),
    ]
    #expect(kinds(history, final: [1: [10], 2: [20]]) == [.g2Item])
  }

  @Test("G2: two transactions that find a group empty and both join it")
  func phantom() {
    let history = [
      Transaction(ranges: [.init(1..<2, [:])], appends: [.init(1, 10, group: 1)]),
      Transaction(ranges: [.init(1..<2, [:])], appends: [.init(2, 20, group: 1)]),
    ]
    #expect(kinds(history, final: [1: [10], 2: [20]]) == [.g2])
  }

  @Test("a document that moved into a range after it was asked for was missed")
  func documentMovedIntoAReadRangeIsDetected() {
    let history = [
      Transaction(appends: [.init(1, 9, group: 0)]),
      Transaction(ranges: [.init(1..<2, [:])], appends: [.init(2, 20, group: 1)]),
      Transaction(ranges: [.init(1..<2, [:])], appends: [.init(1, 10, group: 1)]),
    ]
    #expect(kinds(history, final: [1: [9, 10], 2: [20]]) == [.g2])
  }

  @Test("reads that disagree about an order, and elements that no transaction wrote")
  func contradictoryReadOrdersAndUnknownElementsAreDetected() {
    let writes = [Transaction(appends: [.init(1, 10)]), Transaction(appends: [.init(1, 11)])]
    let disagreeing = [Transaction(items: [.init(1, [10])]), Transaction(items: [.init(1, [11, 10])])]
    #expect(kinds(writes + disagreeing).contains(.incompatibleOrder))
    #expect(kinds(writes + [Transaction(items: [.init(1, [99])])]).contains(.incompatibleOrder))
    #expect(kinds(writes, final: [1: [10, 11, 10]]).contains(.incompatibleOrder))
  }
}

@Suite("The campaign of transactions")
struct TransactionCampaignTests {
  @Test("no history of the store has an anomaly", .timeLimit(.minutes(5)))
  func storeHistoriesHaveNoAnomaly() {
    let seed = UInt64.random(in: 0...1 << 40)
    let summary = TransactionCampaign.run(histories: 60, seed: seed)
    #expect(summary.failure == nil)
    #expect(summary.neverReached == [], "seed \(seed)")
  }
}
