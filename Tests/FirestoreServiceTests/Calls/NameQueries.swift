// Random queries over all collections, and their results by a sorted list.

import ByteStore
import Harness

struct NameQueries {
  /// Paths in the order of names: with numeric ids, missing parents, and ids that begin like others.
  static let paths = [
    "Z/q", "a/__id5__", "a/__id12__", "a/1", "a/1/b/x", "a/1/b/x/q/w", "a/1/b/y", "a/1!/b/x", "a/10",
    "a/1\u{E9}/b/x", "a/2", "a!/k", "b/z/c/d/e/f", "b/zz", "cc/k",
  ]

  private var random: SeededRandom

  init(seed: UInt64) { random = SeededRandom(seed: seed) }

  static func parent(_ path: String) -> String {
    path.isEmpty ? TestService.documents : TestService.name(path)
  }

  static func path(_ name: String) -> String { String(name.dropFirst(TestService.documents.count + 1)) }

  // MARK: Order

  static func precedes(_ left: [String], _ right: [String]) -> Bool {
    for (left, right) in zip(left, right) where left != right {
      switch (number(left), number(right)) {
      case (let left?, let right?): return left < right
      case (_?, nil): return true
      case (nil, _?): return false
      case (nil, nil): return left.utf8.lexicographicallyPrecedes(right.utf8)
      }
    }
    return left.count < right.count
  }

  private static func number(_ id: String) -> Int64? {
    id.hasPrefix("__id") && id.hasSuffix("__") ? Int64(id.dropFirst(4).dropLast(2)) : nil
  }

  /// Paths as text, in the order of names.
  static func sorted(_ paths: [String]) -> [String] {
    paths.map { $0.split(separator: "/").map(String.init) }.sorted(by: precedes)
      .map { $0.joined(separator: "/") }
  }

  // MARK: Random paths and queries

  mutating func oneIn(_ count: Int) -> Bool { random.oneIn(count) }
  mutating func below(_ count: Int) -> Int { random.below(count) }

  private mutating func pick(_ texts: [String]) -> String { texts[random.below(texts.count)] }

  /// A path of one to three levels. Long ids are truncated in the index of names.
  mutating func path() -> [String] {
    var path: [String] = []
    for _ in 0...random.below(3) {
      path.append(pick(["a", "a", "b", "b", "ab", "a!", String(repeating: "c", count: 400)]))
      path.append(
        pick([
          "1", "2", "10", "1!", "a", "__id7__", "__id-3__", "\u{E9}",
          String(repeating: "d", count: 500) + "1",
          String(repeating: "d", count: 500) + "0",
        ]))
    }
    return path
  }

  mutating func query() -> Query {
    var query = Query()
    if oneIn(2) {
      let path = path()
      query.parent = path.joined(separator: "/")
      query.parentPath = path
    }
    query.isRecursive = !oneIn(4)
    switch below(6) {
    case 0...2: query.filter = filter(depth: 2)
    case 3: query.filter = .comparison(pick(["NOT_EQUAL", "NOT_IN"]), [path()])
    default: break
    }
    if oneIn(3) { query.start = Query.Cursor(isBefore: oneIn(2), path: path()) }
    if oneIn(4) { query.end = Query.Cursor(isBefore: oneIn(2), path: path()) }
    if oneIn(3) { query.limit = below(6) }
    if oneIn(4) { query.offset = below(4) }
    return query
  }

  private mutating func filter(depth: Int) -> Filter {
    guard depth > 0, oneIn(2) else {
      let op = pick([
        "LESS_THAN", "LESS_THAN_OR_EQUAL", "GREATER_THAN", "GREATER_THAN_OR_EQUAL", "EQUAL", "IN",
      ])
      return .comparison(op, op == "IN" ? [path(), path()] : [path()])
    }
    let parts = [filter(depth: depth - 1), filter(depth: depth - 1)]
    return oneIn(2) ? .all(parts) : .any(parts)
  }

  // MARK: Queries

  indirect enum Filter {
    case comparison(String, [[String]])
    case all([Filter])
    case any([Filter])

    func matches(_ path: [String]) -> Bool {
      switch self {
      case .all(let parts): return parts.allSatisfy { $0.matches(path) }
      case .any(let parts): return parts.contains { $0.matches(path) }
      case .comparison(let op, let names):
        switch op {
        case "IN", "EQUAL": return names.contains(path)
        case "NOT_IN", "NOT_EQUAL": return !names.contains(path)
        case "LESS_THAN": return precedes(path, names[0])
        case "LESS_THAN_OR_EQUAL": return !precedes(names[0], path)
        case "GREATER_THAN": return precedes(names[0], path)
        default: return !precedes(path, names[0])
        }
      }
    }

    var json: String {
      switch self {
      case .all(let parts): Self.composite("AND", parts)
      case .any(let parts): Self.composite("OR", parts)
      case .comparison(let op, let names):
        #"{"fieldFilter":{"field":{"fieldPath":"__name__"},"op":"\#(op)","value":\#(Self.operand(op, names))}}"#
      }
    }

    private static func composite(_ op: String, _ parts: [Filter]) -> String {
      #"{"compositeFilter":{"op":"\#(op)","filters":[\#(parts.map(\.json).joined(separator: ","))]}}"#
    }

    private static func operand(_ op: String, _ names: [[String]]) -> String {
      let values = names.map(reference)
      return op.hasSuffix("IN")
        ? #"{"arrayValue":{"values":[\#(values.joined(separator: ","))]}}"# : values[0]
    }
  }

  private static func reference(_ path: [String]) -> String {
    #"{"referenceValue":"\#(TestService.name(path.joined(separator: "/")))"}"#
  }

  struct Query {
    struct Cursor {
      var isBefore: Bool
      var path: [String]

      var json: String { #"{"before":\#(isBefore),"values":[\#(reference(path))]}"# }
    }

    var parent = ""
    var parentPath: [String] = []
    var isRecursive = true
    var filter: Filter?
    var start: Cursor?
    var end: Cursor?
    var offset = 0
    var limit: Int?

    var json: String {
      var parts = [#""from":[{"allDescendants":\#(isRecursive)}]"#]
      if let filter { parts.append(#""where":\#(filter.json)"#) }
      if start != nil || end != nil { parts.append(#""orderBy":[{"field":{"fieldPath":"__name__"}}]"#) }
      if let start { parts.append(#""startAt":\#(start.json)"#) }
      if let end { parts.append(#""endAt":\#(end.json)"#) }
      if let limit { parts.append(#""limit":\#(limit)"#) }
      if offset > 0 { parts.append(#""offset":\#(offset)"#) }
      return "{\(parts.joined(separator: ","))}"
    }

    /// The results among all paths, which are in the order of names.
    func results(_ sorted: [[String]]) -> [[String]] {
      let found = sorted.filter(contains).dropFirst(offset)
      return Array(found.prefix(limit ?? .max))
    }

    private func contains(_ path: [String]) -> Bool {
      guard path.count > parentPath.count, path.starts(with: parentPath),
        isRecursive || path.count == parentPath.count + 2, filter?.matches(path) ?? true
      else { return false }
      if let start, precedes(path, start.path) || !start.isBefore && path == start.path { return false }
      if let end, precedes(end.path, path) || end.isBefore && path == end.path { return false }
      return true
    }
  }
}
