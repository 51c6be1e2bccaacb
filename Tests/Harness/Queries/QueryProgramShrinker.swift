// Shrinks a failing program for as long as the smaller program still fails.

internal import DocumentStore

struct QueryProgramShrinker {
  private static let runsMax = 3000

  private var program: QueryProgram
  private var failure: QueryFailure
  private var runs = 0

  static func shrink(
    _ program: QueryProgram, _ failure: QueryFailure
  ) -> (program: QueryProgram, failure: QueryFailure) {
    var shrinker = QueryProgramShrinker(program: program, failure: failure)
    shrinker.dropLaterSteps()
    var size = 0
    repeat {
      size = shrinker.size
      shrinker.dropSteps()
      shrinker.dropEdits()
      shrinker.simplifyLastQuery()
    } while shrinker.size < size && shrinker.runs < runsMax
    return (shrinker.program, shrinker.failure)
  }

  private init(program: QueryProgram, failure: QueryFailure) {
    self.program = program
    self.failure = failure
  }

  private var size: Int { program.description.utf8.count }

  private mutating func dropLaterSteps() {
    program.steps.removeSubrange((failure.step + 1)...)
  }

  /// Runs a smaller program and keeps it if it fails.
  private mutating func attempt(_ smaller: QueryProgram) -> Bool {
    guard runs < Self.runsMax else { return false }
    runs += 1
    var summary = QueryCampaign.Summary()
    guard let failure = smaller.run(&summary) else { return false }
    self.failure = failure
    program = smaller
    dropLaterSteps()
    return true
  }

  private mutating func dropSteps() {
    var count = program.steps.count / 2
    while count > 0 {
      var start = 0
      while start < program.steps.count {
        var smaller = program
        smaller.steps.removeSubrange(start..<min(start + count, program.steps.count))
        if smaller.steps.isEmpty || !attempt(smaller) { start += count }
      }
      count /= 2
    }
  }

  private mutating func dropEdits() {
    var place = 0
    while place < program.steps.count {
      defer { place += 1 }
      guard case .commit(var edits) = program.steps[place] else { continue }
      var count = max(1, edits.count / 2)
      while count > 0 {
        var start = 0
        while start < edits.count {
          var fewer = edits
          fewer.removeSubrange(start..<min(start + count, edits.count))
          var smaller = program
          smaller.steps[place] = .commit(fewer)
          if attempt(smaller), place < program.steps.count { edits = fewer } else { start += count }
        }
        count /= 2
      }
    }
  }

  private mutating func simplifyLastQuery() {
    guard let last = program.steps.indices.last, case .query(let query, let aggregates) = program.steps[last]
    else { return }
    var smaller: [(StructuredQuery, [Aggregate])] = [(query, [])]
    for place in query.filters.indices {
      var filters = query.filters
      filters.remove(at: place)
      smaller.append((query.rebuilt(filters: filters), aggregates))
    }
    for place in query.explicitOrders.indices {
      var orders = query.explicitOrders
      orders.remove(at: place)
      smaller.append((query.rebuilt(orders: orders, hasCursors: false), aggregates))
    }
    smaller.append((query.rebuilt(hasCursors: false), aggregates))
    smaller.append((query.rebuilt(hasLimit: false), aggregates))
    for (query, aggregates) in smaller {
      var program = program
      program.steps[last] = .query(query, aggregates)
      if program.description.utf8.count < size, attempt(program) { return }
    }
  }
}

extension StructuredQuery {
  fileprivate func rebuilt(
    filters: [FilterTree]? = nil, orders: [OrderBy]? = nil, hasCursors: Bool = true, hasLimit: Bool = true
  ) -> StructuredQuery {
    var query = StructuredQuery(scope)
    for filter in filters ?? self.filters { query = (try? query.filtered(by: filter)) ?? query }
    for order in orders ?? explicitOrders { query = (try? query.ordered(by: order)) ?? query }
    if hasCursors {
      query.start = start
      query.end = end
    }
    if hasLimit, let limit { query = (try? query.limited(to: limit)) ?? query }
    return query
  }
}
