// The targets of a session's requests.

internal import OfflineSync

/// The targets of one call, and the numbers and ids in them.
struct SessionAddress {
  /// "Listen" or "Write".
  let method: String
  /// The name of the database, `projects/P/databases/D`.
  let database: String
  /// The id of the session, after the server has answered.
  var session: String?
  /// A text that the server wants to have in all later targets, for its proxies.
  var httpSession: String?
  /// The number of the last request, which begins with a random one.
  private var number: UInt64
  var random: SplitMix64

  init(method: String, database: String, seed: UInt64) {
    self.method = method
    self.database = database
    random = SplitMix64(seed: seed)
    number = random.below(100_000)
  }

  mutating func nextNumber() -> UInt64 {
    number += 1
    return number
  }

  mutating func opening(number: UInt64) -> String {
    target([("RID", "\(number)"), ("CVER", "22"), ("X-HTTP-Session-Id", "gsessionid")])
  }

  mutating func forward(number: UInt64, acknowledged: UInt64) -> String {
    target(ids + [("RID", "\(number)"), ("AID", "\(acknowledged)")])
  }

  /// With a time limit in milliseconds, a poll is answered within it, if only by a keep-alive.
  mutating func back(acknowledged: UInt64, polls: Bool, within timeLimit: Int64? = nil) -> String {
    target(
      [("RID", "rpc")] + ids + [("CI", polls ? "1" : "0")] + (timeLimit.map { [("TO", "\($0)")] } ?? [])
        + [("AID", "\(acknowledged)"), ("TYPE", "xmlhttp")])
  }

  mutating func termination(number: UInt64) -> String {
    target(ids + [("RID", "\(number)"), ("TYPE", "terminate")])
  }

  private var ids: [(name: String, value: String)] {
    var ids: [(name: String, value: String)] = []
    if let httpSession { ids.append(("gsessionid", httpSession)) }
    if let session { ids.append(("SID", session)) }
    return ids
  }

  /// A target with a random value, which keeps caches away.
  private mutating func target(_ parameters: [(name: String, value: String)]) -> String {
    let random = String(random.next() >> 4, radix: 36)
    return ChannelForm.target(
      "/google.firestore.v1.Firestore/\(method)/channel",
      [("VER", "8"), ("database", database)] + parameters + [("zx", random), ("t", "1")])
  }
}
