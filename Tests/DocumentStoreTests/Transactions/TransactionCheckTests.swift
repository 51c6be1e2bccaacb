// The amount of validation that happens under the lock.

import ByteStore
import Harness
import Testing

@testable import DocumentStore

@Suite struct TransactionCheckTests {
  private func document(_ number: Int, at microseconds: Int64) -> StoredDocument {
    StoredDocument(
      path: path("rooms", "m\(number)"), createTime: timestamp(1), updateTime: timestamp(microseconds),
      fields: StoredMap([("n", .integer(Int64(number)))]))
  }

  private func change(_ number: Int, _ after: StoredDocument?) -> CommitChange {
    let place = path("rooms", "m\(number)")
    return CommitChange(
      path: place, key: DocumentKey.encode(place), before: nil, isBeforeKnown: false, after: after)
  }

  private func pending(_ number: UInt64, _ document: Int, _ after: StoredDocument?) -> CommitHistory.Change {
    CommitHistory.Change(number: number, key: change(document, nil).key, after: after)
  }

  /// The reads of a transaction: an absent document, and a query for documents whose `n` is at most ten. The
  /// query result is empty.
  private func reads() throws -> TransactionReads {
    var reads = TransactionReads(floor: 1)
    reads.add(path("rooms", "m5"), nil)
    reads.add(
      try StructuredQuery(.collection(path("rooms", "x").parent))
        .filtered(by: .field(field("n"), .lessThanOrEqual, .integer(10))), [])
    return reads
  }

  @Test func longHistoryIsMostlyCheckedBeforeTheLockIsTaken() throws {
    var history = CommitHistory()
    history.keep(from: 1)
    var number: UInt64 = 0
    func add(_ count: Int) {
      for _ in 0..<count {
        number += 1
        _ = history.add(number, [change(1000 + Int(number), document(1000, at: Int64(number)))])
      }
    }
    add(3000)
    var check = TransactionCheck(try reads())
    // The number of changes that arrive during each look-ahead.
    var more = [1000, 200, 30, 30]
    check.lookAhead {
      defer { if !more.isEmpty { add(more.removeFirst()) } }
      return (history.copy, [])
    }
    add(7)
    #expect(check.decide(history.copy, pending: []) == nil)
    #expect(check.checkedUnderLock == 37)
    add(1)
    _ = history.add(number + 1, [change(3, document(3, at: 9))])
    #expect(check.decide(history.copy, pending: [])?.contains("rooms/m3") == true)
  }

  @Test func onlyTheLastStateOfADocumentDecides() throws {
    var history = CommitHistory()
    history.keep(from: 1)
    _ = history.add(1, [change(5, document(5, at: 1))])
    var check = TransactionCheck(try reads())
    check.lookAhead { (history.copy, []) }
    #expect(check.decide(history.copy, pending: []) != nil)
    // These commits complete in a different order from the order in which they began.
    _ = history.add(3, [change(5, nil)])
    _ = history.add(2, [change(5, document(5, at: 2))])
    #expect(check.decide(history.copy, pending: []) == nil)
  }

  @Test func aFailedCommitIsNoConflict() throws {
    let history = CommitHistory()
    var check = TransactionCheck(try reads())
    check.lookAhead { (history.copy, [pending(2, 5, nil), pending(3, 6, document(6, at: 3))]) }
    #expect(check.decide(history.copy, pending: [pending(2, 5, nil)]) == nil)
    #expect(check.checkedUnderLock == 0)
    #expect(
      check.decide(history.copy, pending: [pending(4, 5, nil), pending(5, 7, document(7, at: 5))])?
        .contains("rooms/m7") == true)
    #expect(check.decide(history.copy, pending: []) == nil)
  }

  /// Guards against a pending deletion that hides an existing document. If the deletion then fails, the
  /// transaction would commit although the document exists.
  @Test func pendingStateDoesNotHideACompletedState() throws {
    var history = CommitHistory()
    history.keep(from: 1)
    _ = history.add(1, [change(5, document(5, at: 1))])
    var check = TransactionCheck(try reads())
    #expect(check.decide(history.copy, pending: [pending(2, 5, nil)])?.contains("rooms/m5") == true)
    check = TransactionCheck(try reads())
    let creation = pending(2, 6, document(6, at: 2))
    check.lookAhead { (CommitHistory().copy, [creation, pending(3, 6, nil)]) }
    #expect(check.decide(CommitHistory().copy, pending: [creation, pending(3, 6, nil)]) != nil)
    #expect(check.checkedUnderLock == 0)
    #expect(check.decide(CommitHistory().copy, pending: [pending(3, 6, nil)]) == nil)
  }

  /// An open transaction does not make the history keep all later changes. If the changes exceed the limit,
  /// the transaction is retried.
  @Test func commitHistoryStaysWithinItsByteLimit() throws {
    var history = CommitHistory()
    history.keep(from: 1)
    var (large, dropped) = (change(1, nil), 0)
    large.recordBytes = 1 << 20
    var tooLarge: [Int] = []
    var isWholeBelowLimit = false
    for number in 1...200 {
      dropped += history.add(UInt64(number), [large]).reduce(0) { $0 + $1.changes.count }
      if (number - dropped) << 20 > CommitHistory.bytesMax { tooLarge.append(number) }
      if number == 60 { isWholeBelowLimit = dropped == 0 && history.reaches(backTo: 1) }
    }
    #expect(tooLarge == [])
    #expect(isWholeBelowLimit)
    #expect(dropped > 100 && !history.reaches(backTo: 1) && !history.reaches(backTo: UInt64(dropped)))
    #expect(history.reaches(backTo: UInt64(dropped + 1)))
  }

  @Test func theHistoryIsDroppedWithItsLastTransaction() throws {
    var history = CommitHistory()
    history.keep(from: 1)
    for number in 1...1000 {
      history.keep(from: UInt64(number))
      _ = history.add(UInt64(number), [change(number, nil)])
    }
    func count(since floor: UInt64) -> Int {
      var count = 0
      history.copy.forEach(since: floor) { _ in count += 1 }
      return count
    }
    #expect(count(since: 1) == 1000 && count(since: 990) == 11)
    let released = (2...900).filter { !history.release(of: UInt64($0)).isEmpty }
    #expect(released == [], "the first is open")
    _ = history.release(of: 1)
    #expect(history.release(of: 1).reduce(0) { $0 + $1.changes.count } == 768)
    #expect(count(since: 901) == 100)
    for number in 901...1000 { _ = history.release(of: UInt64(number)) }
    #expect(count(since: 0) == 0)
  }
}
