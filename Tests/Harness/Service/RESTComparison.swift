// Compares the answers of two peers.
//
// Times differ, and so do ids that a peer chooses. Times correspond: two places have the same time of one
// peer if and only if they have the same time of the other one. Tokens and ids correspond if both peers have
// one.

package struct RESTComparison: Sendable {
  private var times = Correspondence()
  /// Values that the commit computes have times of their own. The emulator takes them in whole milliseconds,
  /// so that several of ours can be one of theirs.
  private var values: [String: String] = [:]

  package init() {}

  /// The emulator reads at the present time, and we at the time of the last commit. All read times of an
  /// answer are the same.
  private var readTimes = Correspondence()

  private static let timeNames: Set = ["createTime", "updateTime", "commitTime"]
  private static let opaqueNames: Set = ["transaction", "nextPageToken"]

  /// Returns the first difference as text; nil if there is none.
  package mutating func difference(_ ours: RESTReply, _ theirs: RESTReply) -> String? {
    guard ours.status == theirs.status else { return "status: \(ours.status), theirs \(theirs.status)" }
    readTimes = Correspondence()
    return difference(ours.body, theirs.body, at: "", named: "")
  }

  private mutating func difference(
    _ ours: JSONTree, _ theirs: JSONTree, at place: String, named name: String
  ) -> String? {
    switch (ours, theirs) {
    case (.object(let left), .object(let right)):
      for key in Set(left.keys).union(right.keys).sorted() {
        guard let left = left[key], let right = right[key] else {
          return "\(place).\(key): \(left[key].map(\.description) ?? "absent"), theirs "
            + "\(right[key].map(\.description) ?? "absent")"
        }
        if let found = difference(left, right, at: "\(place).\(key)", named: key) { return found }
      }
      return nil
    case (.array(let left), .array(let right)):
      for (index, pair) in zip(left, right).enumerated() {
        if let found = difference(pair.0, pair.1, at: "\(place)[\(index)]", named: "") { return found }
      }
      return left.count == right.count ? nil : "\(place): \(left.count) elements, theirs \(right.count)"
    case (.string(let left), .string(let right)) where Self.timeNames.contains(name):
      return times.match(left, right) ? nil : "\(place): \(left), theirs \(right)"
    case (.string(let left), .string(let right)) where name == "readTime":
      return readTimes.match(left, right) ? nil : "\(place): \(left), theirs \(right)"
    case (.string(let left), .string(let right)) where name == "timestampValue":
      let known = left == right ? left : values[left, default: right]
      values[left] = known
      return known == right ? nil : "\(place): \(left), theirs \(right)"
    case (.string, .string) where Self.opaqueNames.contains(name): return nil
    default: return ours == theirs ? nil : "\(place): \(ours), theirs \(theirs)"
    }
  }

  /// For each text of ours the one of theirs at the same places, and the reverse.
  private struct Correspondence {
    private var theirs: [String: String] = [:]
    private var ours: [String: String] = [:]

    /// Whether the texts stand for each other, or neither of them occurred before.
    mutating func match(_ left: String, _ right: String) -> Bool {
      guard theirs[left] == nil, ours[right] == nil else {
        return theirs[left] == right && ours[right] == left
      }
      theirs[left] = right
      ours[right] = left
      return true
    }
  }
}
