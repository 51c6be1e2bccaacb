// Sync scenarios in the form in which files contain them: steps with expectations after each step.

import DocumentStore
import Foundation
import OfflineSync

struct Scenario: Sendable {
  /// Where the client has its store.
  enum Mode: String, Sendable, CaseIterable { case memory, durable }

  /// The parts between the client and the scenario.
  enum Connection: String, Sendable {
    /// None. The remote takes and gives values.
    case direct
    /// The network client, which exchanges bytes of WebChannel with a scripted peer.
    case webChannel
  }

  let name: String
  let tags: Set<String>
  let clients: Int64
  let isEager: Bool
  let limboMax: Int?
  let steps: [JSON]

  init(_ name: String, _ json: JSON) {
    self.name = name
    tags = Set(json["tags"]?.strings ?? [])
    let config = json["config"]
    clients = config?["numClients"]?.integer ?? 1
    isEager = config?["useEagerGCForMemory"]?.boolean ?? true
    limboMax = config?["maxConcurrentLimboResolutions"]?.integer.map(Int.init)
    steps = json["steps"]?.array ?? []
  }

  /// Whether the scenario excludes clients on Apple's platforms. This client has the API of those clients.
  var excludesThisKind: Bool { tags.contains("no-ios") }

  /// Returns the reason to skip the scenario, or nil.
  func reasonToSkip(_ mode: Mode) -> String? {
    if clients > 1 || tags.contains("multi-client") { return "several clients on one store" }
    if tags.contains("benchmark") { return "benchmark" }
    if mode == .memory, tags.contains("durable-persistence") { return "durable only" }
    if mode == .durable, tags.contains("eager-gc") { return "eager collection only" }
    if steps.contains(where: { $0["failDatabase"] != nil || $0["applyClientState"] != nil }) {
      return "names the parts of another implementation"
    }
    return nil
  }

  static func all(in file: URL) throws -> [Scenario] {
    let json = try JSONDecoder().decode(JSON.self, from: Data(contentsOf: file))
    return (json.object ?? [:]).map { Scenario($0, $1) }.sorted { $0.name < $1.name }
  }
}

/// An unfulfilled expectation of a scenario.
struct ScenarioFailure: Error, CustomStringConvertible {
  /// The number of the step; 0 until the run adds it.
  var step = 0
  var what: String

  init(_ what: String) { self.what = what }

  var description: String { "step \(step): \(what)" }
}

// MARK: Parts of steps

extension JSON {
  var path: DocumentPath? {
    string.flatMap { try? DocumentPath($0.split(separator: "/").map(String.init)) }
  }

  var targetIDs: [TargetID] { integers.map { TargetID(Int32($0)) } }

  var token: [UInt8] { Array((string ?? "").utf8) }

  var version: SnapshotVersion { SnapshotVersion(microseconds: integer ?? 0) }

  var error: RemoteError? {
    guard let code = self["code"]?.integer, code != 0 else { return nil }
    return RemoteError(RemoteError.Code(rawValue: Int(code)) ?? .unknown, self["message"]?.string ?? "")
  }

  var remoteDocument: RemoteDocument? {
    guard let path = self["key"]?.path else { return nil }
    return RemoteDocument(path, self["value"]?.map, version: self["version"]?.version ?? .none)
  }

  var filter: BloomFilter.Parts? {
    guard let bits = self["bits"] else { return nil }
    return BloomFilter.Parts(
      bitmap: Data(base64Encoded: bits["bitmap"]?.string ?? "").map(Array.init) ?? [],
      padding: Int(bits["padding"]?.integer ?? 0), hashCount: Int(self["hashCount"]?.integer ?? 0))
  }

  func query() throws -> StructuredQuery {
    if let path = string { return StructuredQuery(try Self.scope(path, nil)) }
    var query = StructuredQuery(
      try Self.scope(self["path"]?.string ?? "", self["collectionGroup"]?.string))
    for filter in self["filters"]?.array ?? [] {
      guard let parts = filter.array, parts.count == 3, let field = parts[0].string,
        let name = parts[1].string, let comparison = Self.operators[name]
      else { throw ScenarioFailure("an invalid filter") }
      query = try query.filtered(
        by: .field(try StoredFieldPath(dotted: field), comparison, parts[2].value))
    }
    for order in self["orderBys"]?.array ?? [] {
      let parts = order.strings
      query = try query.ordered(
        by: OrderBy(try StoredFieldPath(dotted: parts[0]), parts[1] == "desc" ? .descending : .ascending))
    }
    if let limit = self["limit"]?.integer {
      query = try query.limited(
        to: self["limitType"]?.string == "LimitToLast" ? .last(Int(limit)) : .first(Int(limit)))
    }
    return query
  }

  private static func scope(_ path: String, _ group: String?) throws -> StructuredQuery.Scope {
    if let group { return .collectionGroup(group) }
    let names = path.split(separator: "/").map(String.init)
    return names.count % 2 == 0
      ? .document(try DocumentPath(names)) : .collection(try CollectionPath(names))
  }

  private static let operators: [String: FieldFilter.Operator] = [
    "==": .equal, "!=": .notEqual, "<": .lessThan, "<=": .lessThanOrEqual, ">": .greaterThan,
    ">=": .greaterThanOrEqual, "array-contains": .arrayContains, "array-contains-any": .arrayContainsAny,
    "in": .isIn, "not-in": .notIn,
  ]
}
