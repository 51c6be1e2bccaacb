// Advice after a slow query: the index that the query has built in memory, as the command that keeps it.

import DocumentStore
import Foundation

enum IndexAdvice {
  /// Queries below this time get no advice.
  static let secondsMin = 0.1

  /// Runs a query, and returns its result with the advice, which is nil for most queries.
  static func during<Result>(
    _ store: DocumentStore, _ directory: String, _ query: () throws(DocumentStoreError) -> Result
  ) throws(DocumentStoreError) -> (result: Result, advice: String?) {
    let before = Set(store.indexList.map(\.definition))
    let start = ContinuousClock.now
    let result = try query()
    let seconds = (ContinuousClock.now - start) / .seconds(1)
    let built = store.indexList.map(\.definition).filter { !before.contains($0) }
    return (result, text(afterSeconds: seconds, building: built, in: directory))
  }

  static func text(
    afterSeconds seconds: Double, building indexes: [IndexDefinition], in directory: String
  ) -> String? {
    let commands = indexes.compactMap { IndexCommand.command($0, in: directory) }
    guard seconds >= secondsMin, !commands.isEmpty else { return nil }
    let time = seconds < 10 ? String(format: "%.1f s", seconds) : Wording.duration(seconds: seconds)
    let what =
      commands.count == 1
      ? "an index that is gone now. To keep it" : "indexes that are gone now. To keep them"
    return "The query took \(time) and built \(what):" + commands.map { "\n  \($0)" }.joined()
  }

  /// Prints the advice for a person. In the shell, no advice is needed, because the index stays in memory as
  /// long as the store is open.
  static func show(_ advice: String?) {
    guard let advice, StoreAccess.session == nil, isatty(STDERR_FILENO) == 1 else { return }
    Terminal.printToStandardError(advice)
  }
}
