// The comparison of a client's documents with the authority's documents at the time of a snapshot.

package import DocumentStore
package import OfflineSync

extension ClientMemory {
  /// Compares a target with the documents of the authority. `floor` is the time at which the present life of
  /// the authority began: versions are told as if they were not earlier.
  package func difference(
    of target: ModelTarget, from documents: [StoredDocument], floor: SnapshotVersion
  ) -> String? {
    let expected = target.answer(from: documents)
    let missing = Set(expected.map(\.path)).subtracting(target.keys)
    let strange = target.keys.subtracting(expected.map(\.path))
    guard missing.isEmpty, strange.isEmpty else {
      return "lacks \(Self.text(missing)), has \(Self.text(strange)) of \(expected.count) documents"
    }
    for document in expected {
      guard let known = self.documents[document.path], let fields = known.fields else {
        return "\(document.path) has no content"
      }
      guard fields == document.fields else {
        return
          "\(document.path) is \(fields.text) of \(known.version.microseconds), not \(document.fields.text) of "
          + "\(document.updateTime.microseconds)"
      }
      guard Self.isExpected(known, document, floor) else {
        return "\(document.path) has the times \(known.createTime.microseconds) and "
          + "\(known.version.microseconds), and not \(document.createTime.microseconds) and "
          + "\(document.updateTime.microseconds), floor \(floor.microseconds)"
      }
    }
    return nil
  }

  private static func isExpected(
    _ known: RemoteDocument, _ document: StoredDocument, _ floor: SnapshotVersion
  ) -> Bool {
    let createTime = SnapshotVersion(document.createTime)
    return [createTime, max(createTime, floor)].contains(known.createTime)
      && known.version == max(SnapshotVersion(document.updateTime), floor)
  }

  private static func text(_ paths: Set<DocumentPath>) -> String {
    "[" + paths.map(\.description).sorted().joined(separator: ", ") + "]"
  }
}

extension StoredMap {
  /// A short description of the fields.
  var text: String {
    "{" + entries.map { "\($0.name): \($0.value)" }.joined(separator: ", ").prefix(200) + "}"
  }
}

extension StreamLine.Message {
  /// A description for the record of a history.
  var text: String {
    switch change {
    case .target(let state, let ids, let token, let cause):
      let parts = [
        "\(state)", "\(ids.map(\.value))", token.isEmpty ? "" : "token \(token.count) B",
        version == .none ? "" : "at \(version.microseconds)", cause.map { "\($0)" } ?? "",
      ]
      return parts.filter { !$0.isEmpty }.joined(separator: " ")
    case .document(let path, let document, let updated, let removed):
      let content = document.map { $0.fields == nil ? "absent" : "present" } ?? "without content"
      return "\(path) \(content) at \(document?.version.microseconds ?? 0) in \(updated.map(\.value)), "
        + "not in \(removed.map(\.value))"
    case .existenceFilter(let id, let count, let filter):
      return "filter of \(id): \(count)\(filter == nil ? "" : " with names")"
    }
  }
}
