// A batch keeps the token under which it may have been sent first.

import Testing

@testable import OfflineSync

@Suite struct RunTokensTests {
  private func tokens(
    _ registrations: [(token: UInt8, first: Int64?, through: Int64)]
  ) -> RunTokens {
    registrations.reduce(into: RunTokens()) { tokens, next in
      tokens.register([next.token], first: next.first.map { BatchID($0) }, through: BatchID(next.through))
    }
  }

  @Test func aBatchThatWasNeverSentGetsTheNewestToken() {
    let known = tokens([(1, 1, 3), (2, 1, 5)])
    #expect((1...7).map { known.token(of: BatchID($0)) } == [[1], [1], [1], [2], [2], [2], [2]])
    #expect((1...7).map { known.mayHaveSent(BatchID($0)) } == [true, true, true, true, true, false, false])
    #expect(known.current == [2])
  }

  @Test func theSameTokenAgainOnlyCoversMoreBatches() {
    var known = tokens([(1, 1, 3), (1, 2, 5)])
    #expect(known.issued.count == 1)
    #expect(known.mayHaveSent(BatchID(5)) && !known.mayHaveSent(BatchID(6)))
    known.send(BatchID(6))
    known.send(BatchID(2))
    #expect(known.mayHaveSent(BatchID(6)) && !known.mayHaveSent(BatchID(7)))
  }

  @Test func tokensOfAnsweredBatchesAreDropped() {
    #expect(tokens([(1, 1, 3), (2, 4, 5)]).issued.map(\.token) == [[2]])
    #expect(tokens([(1, 1, 3), (2, nil, 5)]).issued.map(\.token) == [[2]])
    #expect(tokens([(1, 1, 3), (2, 3, 5), (3, 3, 9)]).issued.map(\.token) == [[1], [2], [3]])
    #expect(tokens([(1, 1, 3), (2, 3, 5), (3, 4, 9)]).issued.map(\.token) == [[2], [3]])
  }

  @Test func tokensUnderWhichNoBatchWasSentFirstAreDropped() {
    let known = tokens((1...100).map { (UInt8($0), 1, 3) })
    #expect(known.issued.map(\.token) == [[1], [100]])
    #expect(known.token(of: BatchID(3)) == [1] && known.token(of: BatchID(4)) == [100])
  }

  @Test func withoutARegistrationThereIsNoToken() {
    var none = RunTokens()
    none.send(BatchID(1))
    #expect(none.token(of: BatchID(1)) == [] && none.current == [] && !none.mayHaveSent(BatchID(1)))
  }

  @Test func storedTokensAreInOrder() {
    func issued(_ numbers: [Int64]) -> [RunTokens.Issued] {
      numbers.map { RunTokens.Issued(token: [1], through: BatchID($0)) }
    }
    #expect(RunTokens(issued([1, 1, 3]))?.issued == issued([1, 1, 3]))
    #expect(RunTokens(issued([2, 1])) == nil)
    #expect(RunTokens(issued([]))?.issued == [])
  }
}
