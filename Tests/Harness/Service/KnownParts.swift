// Removes the parts of two answers that differ in a way that is meant, so that the rest can be compared.

import DocumentStore

struct KnownParts {
  let step: RESTStep
  private(set) var ours: RESTReply
  private(set) var theirs: RESTReply
  private(set) var found: Set<KnownDifference> = []

  /// Removes all parts whose form on both sides is the one that is meant.
  init(_ step: RESTStep, _ ours: RESTReply, _ theirs: RESTReply) {
    self.step = step
    self.ours = ours
    self.theirs = theirs
    if ours.isError, ours.status == theirs.status { removeText() }
    guard !ours.isError, !theirs.isError else { return }
    removeStatusTexts()
    removeCommitTime()
    removeSkippedResults()
    removeDone()
    removeAggregates()
    removeWriteResults()
    removePage()
    removeToken()
  }

  // MARK: Texts

  private mutating func removeText() {
    guard let kind = KnownText(ours: ours.message, theirs: theirs.message, step: step).kind else { return }
    theirs.body = theirs.body.replacing("error") { $0.replacing("message") { _ in .string(ours.message) } }
    found.insert(kind)
  }

  /// The statuses of a batch of writes.
  private mutating func removeStatusTexts() {
    let statuses = ours.body["status"]?.elements ?? []
    for (index, status) in statuses.enumerated() {
      guard let text = status["message"]?.text,
        let other = theirs.body["status"]?.element(index)?["message"]?.text,
        let kind = KnownText(ours: text, theirs: other, step: step).kind
      else { continue }
      theirs.body = theirs.body.replacing("status") {
        $0.replacing(element: index) { $0.replacing("message") { _ in .string(text) } }
      }
      found.insert(kind)
    }
  }

  // MARK: Commits

  private mutating func removeCommitTime() {
    guard step.path.hasSuffix(":commit"), step.writes.isEmpty, theirs.body == .object([:]),
      ours.body["commitTime"]?.text != nil
    else { return }
    ours.body = ours.body.without("commitTime")
    found.insert(.emptyCommitTime)
  }

  private mutating func removeWriteResults() {
    let twice = step.documentsWrittenTwice
    for (index, write) in step.writes.enumerated() {
      guard let result = ours.body["writeResults"]?.element(index),
        let other = theirs.body["writeResults"]?.element(index)
      else { continue }
      // A write that changes nothing leaves the update time of its document.
      let isLike =
        result.isLike(other) && result["updateTime"] ?? ours.body["commitTime"] == ours.body["commitTime"]
      guard !isLike else { continue }
      if step.path.hasSuffix(":commit"), twice.contains(write.writtenName ?? ""),
        result["transformResults"]?.elements.count ?? 0 == write.transformCount
      {
        replaceResult(index, by: .object([:]))
        found.insert(.writesOfOneDocument)
      } else if result == .object([:]), write["verify"] != nil, other["updateTime"]?.text != nil,
        write["currentDocument"]?["exists"] == .boolean(false)
      {
        replaceResult(index, by: other.without("updateTime"))
        found.insert(.verifiedAbsence)
      }
    }
  }

  /// Replaces the result of a write on their side, and on ours if the result is not to be compared.
  private mutating func replaceResult(_ index: Int, by result: JSONTree) {
    theirs.body = theirs.body.replacing("writeResults") { $0.replacing(element: index) { _ in result } }
    ours.body = ours.body.replacing("writeResults") { $0.replacing(element: index) { _ in result } }
  }

  // MARK: Queries

  /// Our answer tells the number with its first element. Theirs tells it with all but the last one.
  private mutating func removeSkippedResults() {
    guard step.path.hasSuffix(":runQuery"), let skipped = ours.body.element(0)?["skippedResults"],
      ours.body.elements.dropFirst().allSatisfy({ $0["skippedResults"] == nil }),
      theirs.body.elements.allSatisfy({ $0["skippedResults"] ?? skipped == skipped })
    else { return }
    ours.body = ours.body.withoutInElements("skippedResults")
    theirs.body = theirs.body.withoutInElements("skippedResults")
    found.insert(.skippedResults)
  }

  private mutating func removeDone() {
    guard step.path.hasSuffix(":runAggregationQuery"),
      theirs.body.elements.contains(where: { $0["done"] == .boolean(true) && $0["result"] != nil })
    else { return }
    theirs.body = theirs.body.withoutInElements("done")
    found.insert(.aggregationDone)
  }

  /// The aggregates themselves, which are then compared with the evaluator.
  private mutating func removeAggregates() {
    let results = [ours, theirs].map { $0.body.element(0)?["result"]?["aggregateFields"] }
    guard step.path.hasSuffix(":runAggregationQuery"), results[0] != results[1], results[0] != nil,
      ["\"sum\":", "\"avg\":"].contains(where: step.body.contains),
      ["\"limit\":", "\"offset\":"].contains(where: step.body.contains)
    else { return }
    for side in [\KnownParts.ours, \.theirs] {
      self[keyPath: side].body = self[keyPath: side].body.replacing(element: 0) {
        $0.replacing("result") { $0.without("aggregateFields") }
      }
    }
    found.insert(.aggregationLimit)
  }

  // MARK: Pages

  /// Does to a page of theirs what the emulator omits: it applies the mask and the size, and leaves only the
  /// name of an absent document.
  private mutating func removePage() {
    guard step.isListWithMissing, let all = theirs.body["documents"]?.elements else { return }
    let masks = step.parameters.filter { $0.key == "mask.fieldPaths" }
      .compactMap { try? StoredFieldPath(canonical: $0.value) }
    var page = all.map { document in
      guard document["createTime"] != nil else { return document.without("updateTime") }
      return masks.isEmpty ? document : document.masked(masks)
    }
    if let size = step.parameter("pageSize").flatMap({ Int($0) }), size > 0, size < page.count {
      page = Array(page.prefix(size))
      guard ours.body["nextPageToken"] != nil else { return }
      ours.body = ours.body.without("nextPageToken")
      theirs.body = theirs.body.without("nextPageToken")
    }
    guard page != all else { return }
    theirs.body = theirs.body.replacing("documents") { _ in .array(page) }
    found.insert(.missingPage)
  }

  private mutating func removeToken() {
    guard theirs.body["nextPageToken"]?.text != nil, ours.body["nextPageToken"] == nil else { return }
    theirs.body = theirs.body.without("nextPageToken")
    found.insert(.tokenOfEmptyPage)
  }
}

// MARK: - Parts of JSON

extension JSONTree {
  func element(_ index: Int) -> JSONTree? { elements.indices.contains(index) ? elements[index] : nil }

  /// The number of values that a write computes.
  fileprivate var transformCount: Int {
    (self["updateTransforms"] ?? self["transform"]?["fieldTransforms"])?.elements.count ?? 0
  }

  /// Whether two results of writes are the same, except for their times.
  fileprivate func isLike(_ other: JSONTree) -> Bool {
    (self["updateTime"] == nil) == (other["updateTime"] == nil)
      && without("updateTime") == other.without("updateTime")
  }

  fileprivate func replacing(_ name: String, by change: (JSONTree) -> JSONTree) -> JSONTree {
    guard case .object(var members) = self, let member = members[name] else { return self }
    members[name] = change(member)
    return .object(members)
  }

  fileprivate func replacing(element index: Int, by change: (JSONTree) -> JSONTree) -> JSONTree {
    guard case .array(var elements) = self, elements.indices.contains(index) else { return self }
    elements[index] = change(elements[index])
    return .array(elements)
  }

  fileprivate func without(_ name: String) -> JSONTree {
    guard case .object(let members) = self else { return self }
    return .object(members.filter { $0.key != name })
  }

  fileprivate func withoutInElements(_ name: String) -> JSONTree {
    guard case .array(let elements) = self else { return self }
    return .array(elements.map { $0.without(name) })
  }

  /// A document with the fields of a mask.
  fileprivate func masked(_ masks: [StoredFieldPath]) -> JSONTree {
    let fields = self["fields"]?.keeping(masks.map { $0.names[...] }) ?? .object([:])
    return fields == .object([:]) ? without("fields") : replacing("fields") { _ in fields }
  }

  /// The fields of a map that lie on one of the paths.
  private func keeping(_ paths: [ArraySlice<String>]) -> JSONTree {
    guard case .object(let members) = self else { return self }
    var kept: [String: JSONTree] = [:]
    for (name, value) in members {
      let inner = paths.filter { $0.first == name }.map { $0.dropFirst() }
      if inner.contains(where: \.isEmpty) {
        kept[name] = value
      } else if !inner.isEmpty, case .object? = value["mapValue"] {
        let fields = value["mapValue"]?["fields"]?.keeping(inner) ?? .object([:])
        if fields != .object([:]) { kept[name] = .object(["mapValue": .object(["fields": fields])]) }
      }
    }
    return .object(kept)
  }
}
