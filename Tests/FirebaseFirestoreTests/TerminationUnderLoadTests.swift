// Termination while 200 tasks write, read, run transactions and add listeners, as requests of a server do.

import FirebaseFirestore
import Foundation
import Harness
import Testing

@Suite(.timeLimit(.minutes(5))) struct TerminationUnderLoadTests {
  private static let clientCount = 200
  private static let counterCount = 8

  /// Each task ends with its first call that fails. After the next open, the database contains the
  /// acknowledged writes and no others.
  @Test func acknowledgedWritesOfManyTasksSurviveTermination() async throws {
    let database = try TestDatabase()
    let firestore = database.firestore
    let (started, wrong) = (EventCount(), Log())
    let outcomes = try await withThrowingTaskGroup(of: LoadClient.Outcome.self) { group in
      for number in 0..<Self.clientCount {
        let client = LoadClient(firestore, number, counter: "\(number % Self.counterCount)", wrong: wrong)
        group.addTask { await client.run(started) }
      }
      for _ in 0..<Self.clientCount { try #require(await started.next()) }
      try await firestore.terminate()
      return try await group.reduce(into: []) { $0.append($1) }
    }
    #expect(wrong.lines == [])
    #expect(outcomes.allSatisfy { $0.noteCount > 0 && $0.incrementCount > 0 })
    await database.restart()
    let differences = try await Self.differences(between: outcomes, and: database.firestore)
    #expect(differences == [])
    await database.close()
  }

  private static func differences(
    between outcomes: [LoadClient.Outcome], and firestore: Firestore
  ) async throws -> [String] {
    var differences: [String] = []
    for outcome in outcomes {
      let stored = try await firestore.collection("clients/\(outcome.client)/notes").getDocuments().documents
      let numbers = stored.compactMap { $0["n"] as? Int }.sorted()
      if numbers != Array(0..<outcome.noteCount) {
        differences.append("client \(outcome.client): \(outcome.noteCount) acknowledged, \(numbers) stored")
      }
    }
    for (counter, outcomes) in Dictionary(grouping: outcomes, by: \.counter) {
      let acknowledged = outcomes.reduce(0) { $0 + $1.incrementCount }
      let stored = try await firestore.document("counters/\(counter)").getDocument()["n"] as? Int
      if stored != acknowledged {
        differences.append("counter \(counter): \(acknowledged) acknowledged, \(stored ?? 0) stored")
      }
    }
    return differences
  }
}

/// A client that makes calls one after another until one of them fails.
private final class LoadClient: Sendable {
  struct Outcome: Sendable {
    var client: Int
    var counter: String
    /// The number of acknowledged notes, which have the numbers from 0 on.
    var noteCount = 0
    /// The number of acknowledged transactions, each of which added one to the counter.
    var incrementCount = 0
  }

  private let firestore: Firestore
  private let number: Int
  private let counter: String
  private let wrong: Log

  init(_ firestore: Firestore, _ number: Int, counter: String, wrong: Log) {
    self.firestore = firestore
    self.number = number
    self.counter = counter
    self.wrong = wrong
  }

  /// Adds one event to `started`: when both kinds of writes have been acknowledged, or when one has failed.
  func run(_ started: EventCount) async -> Outcome {
    var outcome = Outcome(client: number, counter: counter)
    do {
      while true {
        try await put(outcome.noteCount)
        outcome.noteCount += 1
        try await increment()
        outcome.incrementCount += 1
        if outcome.incrementCount == 1 { started.add() }
        try await read(outcome.noteCount - 1)
        listen()
      }
    } catch {
      check(error)
      if outcome.incrementCount == 0 { started.add() }
    }
    return outcome
  }

  private func note(_ number: Int) -> DocumentReference {
    firestore.document("clients/\(self.number)/notes/\(number)")
  }

  private func put(_ number: Int) async throws { try await note(number).setData(["n": number]) }

  private func read(_ number: Int) async throws {
    guard try await note(number).getDocument()["n"] as? Int == number else {
      return wrong.add("client \(self.number): note \(number) is not visible")
    }
  }

  private func increment() async throws {
    let counter = firestore.document("counters/\(counter)")
    _ = try await firestore.runTransaction { transaction, failure in
      do {
        let value = try transaction.getDocument(counter)["n"] as? Int ?? 0
        transaction.setData(["n": value + 1], forDocument: counter)
      } catch {
        failure?.pointee = error as NSError
      }
      return nil
    }
  }

  private func listen() {
    let registration = note(0).addSnapshotListener { [self] _, error in
      if let error { check(error) }
    }
    registration.remove()
  }

  /// Accepts the error of a termination, and the error of a transaction whose wait the termination ended.
  private func check(_ error: any Error) {
    let error = error as NSError
    let allowed: [FirestoreErrorCode.Code] = [.failedPrecondition, .aborted]
    if error.domain != FirestoreErrorDomain || !allowed.map(\.rawValue).contains(error.code) {
      wrong.add("client \(number): \(error)")
    }
  }
}
