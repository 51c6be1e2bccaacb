// The cost of building a query: each step takes constant time, however long the chain is.

import CAllocations
import FirebaseFirestore
import Foundation
import Testing

@Suite struct QueryBuildingCostTests {
  private let collection = Firestore.memory().collection("a/b/c")

  /// Guards against quadratic time for a long chain of filters, and against a stack overflow for deeply
  /// nested filters.
  @Test(.enabled(if: allocations_are_counted()), arguments: Chain.allCases)
  func chainAllocationsGrowLinearly(chain: Chain) {
    let bytes = [2000, 4000].map { length in
      let before = allocated_bytes_of_this_thread()
      _ = chain.built(from: collection, length: length)
      return allocated_bytes_of_this_thread() - before
    }
    print("bytes that chains of 2000 and 4000 allocate (\(chain)): \(bytes)")
    #expect(Double(bytes[1]) <= 2.6 * Double(bytes[0]), "\(bytes)")
  }

  @Test(arguments: Chain.allCases)
  func aChainOfTwentyThousandStepsIsRefusedOnlyWhenRun(chain: Chain) async throws {
    let query = chain.built(from: collection, length: 20_000)
    do {
      _ = try await query.getDocuments()
      Issue.record("it was run")
    } catch FirestoreErrorCode.invalidArgument {
    }
    let error = #expect(throws: (any Error).self) { try query.read() }
    #expect(
      error?.localizedDescription
        == "The query has 20002 filters, orders and names in the parent's path, and the limit is 100.")
    #expect(query == chain.built(from: collection, length: 20_000))
    #expect(query.hash == chain.built(from: collection, length: 20_000).hash)
    #expect(query != chain.built(from: collection, length: 20_001))
    await #expect(throws: (any Error).self) { try await query.count.getAggregation(source: .server) }
    await #expect(throws: (any Error).self) { try await query.explain() }
    await #expect(throws: (any Error).self) { for try await _ in query.limit(to: 1).snapshots { break } }
  }

  enum Chain: CaseIterable, Sendable {
    case filters, orders, composites, oneComposite, ands, ors

    func built(from query: Query, length: Int) -> Query {
      let leaf = Filter.whereField("n", isEqualTo: 1)
      switch self {
      case .filters: return (0..<length).reduce(query) { query, n in query.whereField("f", isEqualTo: n) }
      case .orders: return (0..<length).reduce(query) { query, n in query.order(by: "f\(n)") }
      case .composites:
        return (0..<length / 2).reduce(query) { query, _ in query.whereFilter(.orFilter([leaf, leaf])) }
          .whereFilter(.andFilter(Array(repeating: leaf, count: length % 2)))
      case .oneComposite: return query.whereFilter(.andFilter(Array(repeating: leaf, count: length)))
      case .ands: return query.whereFilter((1..<length).reduce(leaf) { nest, _ in .andFilter([nest, leaf]) })
      case .ors: return query.whereFilter((1..<length).reduce(leaf) { nest, _ in .orFilter([leaf, nest]) })
      }
    }
  }

  // MARK: At the limit

  /// The two names of the parent path also count towards the limit.
  @Test func aQueryHasAtMostAHundredParts() throws {
    let full = Chain.filters.built(from: collection, length: 97).order(by: "o")
    #expect(try full.read().isEmpty)
    #expect(throws: (any Error).self) { try full.order(by: "p").read() }
    #expect(throws: (any Error).self) { try full.whereField("f", isEqualTo: 1).read() }
    #expect(throws: (any Error).self) { try Chain.filters.built(from: collection, length: 101).read() }
  }

  /// Two queries that agree up to the limit may differ beyond it.
  @Test func queriesThatDifferBeyondTheLimitAreNotEqual() {
    let base = Chain.filters.built(from: collection, length: 150)
    let (one, other) = (base.whereField("n", isEqualTo: 1), base.whereField("n", isEqualTo: 2))
    #expect(one != other && one != base && one == base.whereField("n", isEqualTo: 1))
    #expect(one.whereField("n", isEqualTo: 2) != other.whereField("n", isEqualTo: 1))
    #expect(one.order(by: "n") != one.order(by: "n", descending: true))
    #expect(one.limit(to: 1) != one && one.limit(to: 1) == one.limit(to: 1))
  }

  @Test func cursorsThatDifferBeyondTheLimitAreNotEqual() {
    let base = Chain.filters.built(from: collection, length: 101).order(by: "n")
    #expect(base.start(at: [1]) != base.start(at: [2]))
    #expect(base.start(at: [1]) == base.start(at: [1]))
    #expect(base.start(at: [1]) != base.end(at: [1]))
  }

  @Test func limitToLastAcceptsOrdersBeyondTheSizeLimit() throws {
    let query = Chain.filters.built(from: collection, length: 101).order(by: "n").limit(toLast: 3)
    #expect(throws: (any Error).self) { try query.read() }
  }

  /// A composite filter that joins itself with itself doubles in size at each step.
  @Test func anExponentiallyLargeFilterIsRefusedWhenItRuns() throws {
    let leaf = Filter.whereField("n", isEqualTo: 1)
    var accepted: [String] = []
    for (place, join) in [Filter.orFilter, Filter.andFilter].enumerated() {
      let nest = (0..<200).reduce(leaf) { nest, _ in join([nest, nest]) }
      do {
        _ = try collection.whereFilter(nest).whereFilter(nest).read()
        accepted.append(place == 0 ? "or" : "and")
      } catch {}
    }
    #expect(accepted == [])
  }

  @Test func compositeFiltersWithFewerThanTwoPartsAreSimplified() throws {
    let leaf = Filter.whereField("n", isEqualTo: 1)
    let single = (0..<20_000).reduce(leaf) { nest, _ in .andFilter([nest]) }
    #expect(collection.whereFilter(single) == collection.whereField("n", isEqualTo: 1))
    let hollow = (0..<20_000).reduce(Filter.orFilter([])) { nest, _ in .andFilter([nest, .orFilter([])]) }
    #expect(collection.whereFilter(hollow) === collection)
    let both = (0..<20_000).reduce(leaf) { nest, _ in .orFilter([nest, .andFilter([])]) }
    #expect(try collection.whereFilter(both).read().isEmpty)
  }

  @Test func anOversizedQueryAcceptsCursorsForAllOrders() {
    let query = Chain.orders.built(from: collection, length: 150)
    var wrong: [String] = []
    for count in [1, 101, 150] {
      let cursor = query.start(at: Array(0..<count)).end(before: Array(0..<count))
      if cursor == query { wrong.append("\(count): the cursor is ignored") }
      do {
        _ = try cursor.read()
        wrong.append("\(count): the query was accepted")
      } catch {}
    }
    #expect(wrong == [])
  }
}
