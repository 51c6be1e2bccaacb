// Transactions that move amounts between few accounts, so that they meet.
//
//   the sum of all amounts never changes
//   the sum of the versions of all accounts = 2 × the number of transfers

#if Server
import ByteStore
package import DocumentStore
import FirestoreWire
import Harness

package final class TransferLoad: ServedLoad {
  private static let accounts = 8
  private static let amount: Int64 = 1000
  /// Another transaction was first, or a lock has ended.
  private static let aborted = 10

  package let name = "transfers"
  package let collections = ["accounts", "transfers"]
  package let tally = LoadTally()
  private let seed: UInt64
  private let writers: Locked<[NumberedWrites]>
  private let abandoned = Locked<[[UInt8]]>([])

  package init(writers: Int, seed: UInt64) {
    self.seed = seed
    self.writers = Locked([NumberedWrites](repeating: NumberedWrites(), count: writers))
  }

  /// Ids of transactions that were open when their server was killed.
  package func takeAbandoned() -> [[UInt8]] {
    abandoned.withLock { abandoned in
      defer { abandoned = [] }
      return abandoned
    }
  }

  package func run(_ client: FirestoreClient, port: Int) async {
    await withTaskGroup(of: Void.self) { tasks in
      for writer in writers.withLock({ $0.indices }) {
        tasks.addTask { [self] in await run(writer, client) }
      }
    }
  }

  private func run(_ writer: Int, _ client: FirestoreClient) async {
    var random = SeededRandom(
      seed: SeededRandom.seed(seed, UInt64(writer), UInt64(writers.withLock { $0[writer].attempted })))
    var retried: [UInt8] = []
    while true {
      var open: [UInt8] = []
      do throws(GRPCEnd) {
        let transaction = try await client.beginTransaction(retried: retried)
        open = transaction
        let first = random.below(Self.accounts)
        let from = account(first)
        let to = account((first + 1 + random.below(Self.accounts - 1)) % Self.accounts)
        let read = try await client.documents(at: [from, to], transaction: transaction)
        guard try await commit(writer, from, to, read, transaction, client, &random) else { return }
        retried = []
      } catch {
        if !open.isEmpty, error.origin == .connection { abandoned.withLock { $0.append(open) } }
        retried = error.code == Self.aborted ? open : []
        guard tally.note(error, of: "a transaction", expected: [Self.aborted]) else { return }
      }
    }
  }

  /// Returns false if the writer cannot go on.
  private func commit(
    _ writer: Int, _ from: DocumentPath, _ to: DocumentPath, _ read: [DocumentPath: StoredDocument],
    _ transaction: [UInt8], _ client: FirestoreClient, _ random: inout SeededRandom
  ) async throws(GRPCEnd) -> Bool {
    let number = writers.withLock { $0[writer].begin() }
    let amount = Int64(random.below(50))
    do throws(GRPCEnd) {
      try await client.commit(
        [
          .set(from, Account(read[from]).changed(by: -amount).fields),
          .set(to, Account(read[to]).changed(by: amount).fields),
          .set(path(writer), StoredMap([("n", .integer(Int64(number))), ("amount", .integer(amount))])),
        ], transaction: transaction)
      tally.acknowledge()
      writers.withLock { $0[writer].acknowledge(number) }
      return true
    } catch {
      if error.outcome(expected: [Self.aborted]) == .notExecuted {
        writers.withLock { $0[writer].withdraw(number) }
      }
      throw error
    }
  }

  // MARK: Documents

  private struct Account {
    var amount: Int64
    var version: Int64

    /// Accounts exist after their first transfer.
    init(_ document: StoredDocument?) {
      amount = TransferLoad.amount
      version = 0
      if case .integer(let amount)? = document?.fields["amount"] { self.amount = amount }
      if case .integer(let version)? = document?.fields["version"] { self.version = version }
    }

    func changed(by amount: Int64) -> Account {
      var account = self
      account.amount += amount
      account.version += 1
      return account
    }

    var fields: StoredMap { StoredMap([("amount", .integer(amount)), ("version", .integer(version))]) }
  }

  private func account(_ number: Int) -> DocumentPath { FirestoreClient.path("accounts", "\(number)") }
  private func path(_ writer: Int) -> DocumentPath { FirestoreClient.path("transfers", "\(writer)") }

  package func judge(_ documents: [DocumentPath: StoredDocument]) throws {
    let transfers = try writers.withLock { writers in
      for writer in writers.indices {
        try writers[writer].adopt(documents[path(writer)]?.number ?? 0, of: "writer \(writer)")
      }
      return writers.reduce(0) { $0 + $1.acknowledged }
    }
    let accounts = (0..<Self.accounts).map { Account(documents[account($0)]) }
    let sum = accounts.reduce(0) { $0 + $1.amount }
    guard sum == Self.amount * Int64(Self.accounts) else {
      throw Violation("the accounts have \(sum) instead of \(Self.amount * Int64(Self.accounts))")
    }
    let versions = accounts.reduce(0) { $0 + $1.version }
    guard versions == 2 * transfers else {
      throw Violation("\(transfers) transfers have changed \(versions) accounts")
    }
  }
}
#endif
