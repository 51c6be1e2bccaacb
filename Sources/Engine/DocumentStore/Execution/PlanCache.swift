// The templates of recent plans.

import ByteStore

/// Finds the template for a query, so that a query of a known form is not planned again.
///
/// A template holds for one list of indexes of a collection. The list is identified by the identities of its
/// indexes, so no template has to be removed when indexes change: it is no longer found, and later replaced.
final class PlanCache: Sendable {
  /// The maximum number of templates. The template that was added first is replaced first.
  static let templatesMax = 64

  fileprivate final class Entry: Sendable {
    let form: QueryForm
    let indexes: [IndexIdentity]
    let template: PlanTemplate
    /// The place of the template's index among the indexes; nil for the names.
    let indexPlace: Int?

    init(_ template: PlanTemplate, _ form: QueryForm, in view: IndexView) {
      self.form = form
      self.template = template
      indexes = view.indexes.map(\.identity)
      indexPlace = template.indexPlace(in: view)
    }
  }

  fileprivate struct State {
    /// The entry that was found last. Most programs ask queries of one form many times in a row.
    var last: Entry?
    /// The digests of the entries, so that a search reads no other memory.
    var digests: [UInt64] = []
    var entries: [Entry] = []
    /// The entry that is replaced next.
    var oldest = 0
  }

  private let state = Locked(State())

  /// Returns the plan for a query with the indexes of a view; nil if there is no template. The query must be
  /// in the form returned by `executableForm`.
  func plan(for run: StructuredQuery, _ view: IndexView) -> QueryPlan? {
    guard let entry = state.withLock({ $0.entry(for: run, view) }) else { return nil }
    return entry.template.plan(for: run, at: entry.indexPlace)
  }

  func add(_ template: PlanTemplate, for run: StructuredQuery, view: IndexView) {
    guard let form = QueryForm(run), let digest = QueryForm.digest(of: run) else { return }
    let entry = Entry(template, form, in: view)
    state.withLock { state in
      // Another thread may have planned a query of this form in the meantime.
      guard state.entry(for: run, view) == nil else { return }
      if state.entries.count < Self.templatesMax {
        state.digests.append(digest)
        state.entries.append(entry)
      } else {
        state.digests[state.oldest] = digest
        state.entries[state.oldest] = entry
        state.oldest = (state.oldest + 1) % Self.templatesMax
      }
    }
  }

  /// The number of templates.
  var count: Int { state.withLock { $0.entries.count } }
}

extension PlanCache.State {
  fileprivate mutating func entry(for run: StructuredQuery, _ view: IndexView) -> PlanCache.Entry? {
    if let last, last.holds(for: view), last.form.matches(run) { return last }
    guard let digest = QueryForm.digest(of: run) else { return nil }
    for place in digests.indices where digests[place] == digest {
      let entry = entries[place]
      guard entry.holds(for: view), entry.form.matches(run) else { continue }
      last = entry
      return entry
    }
    return nil
  }
}

extension PlanCache.Entry {
  /// Whether the view has the indexes for which the plan was made, in the same order.
  fileprivate func holds(for view: IndexView) -> Bool {
    guard view.indexes.count == indexes.count else { return false }
    return indexes.indices.allSatisfy { view.indexes[$0].identity == indexes[$0] }
  }
}
