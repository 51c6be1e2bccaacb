// The messages of a watch stream as text.

import DocumentStore
import OfflineSync

enum WatchText {
  static func of(_ event: WatchStreamEvent) -> String {
    switch event {
    case .opened: return "opened"
    case .closed(let error): return "closed \(text(error))"
    case .changed(let change, let version): return of(change, version)
    }
  }

  static func of(_ change: WatchChange, _ version: SnapshotVersion) -> String {
    let isSnapshot = version != .none
    switch change {
    case .target(.noChange, [], _, nil) where isSnapshot: return "snapshot"
    case .target(let state, let ids, _, let cause):
      return "\(state) \(text(ids))\(cause == nil ? "" : " \(text(cause))")"
    case .document(let path, let document, let updated, let removed):
      let ways = [("in", updated), ("out", removed)].filter { !$0.1.isEmpty }
      return "\(path)\(text(document))" + ways.map { " \($0.0) \(text($0.1))" }.joined()
    case .existenceFilter(let id, let count, let filter):
      return "filter \(id) of \(count)\(filter == nil ? "" : " with names")"
    }
  }

  private static func text(_ ids: [TargetID]) -> String { ids.map(\.description).joined(separator: ",") }

  private static func text(_ error: RemoteError?) -> String { error.map { "\($0.code)" } ?? "well" }

  private static func text(_ document: RemoteDocument?) -> String {
    guard let document else { return "" }
    if case .integer(let number)? = document.fields?["n"] { return "=\(number)" }
    return document.fields == nil ? " gone" : "=none"
  }
}
