// The document in which a store keeps the identity of its authority (docs/format.md):
//
//   `__authority__/life`
//     n: the number of the life
//     k: the key of all tokens, 32 bytes
//     s: the id of the store in which the life began, 16 bytes
//     f: the time at which the life began; absent in the first life of a database
//     l: the spans of time whose commits are lost: after, through, after, through

internal import ByteStore
internal import DocumentStore
internal import OfflineSync

struct LifeRecord: Equatable {
  static let path = DocumentPath(unchecked: ["__authority__", "life"])
  /// If there are more lost spans, the oldest is dropped, and its runs are unknown.
  private static let lostMax = 64
  static let floorField = StoredFieldPath(unchecked: ["f"])

  /// A span of time whose commits were lost, because an older copy took the place of the store.
  struct Lost: Equatable {
    /// The last commit that the copy has.
    let after: SnapshotVersion
    /// The time at which the loss became known.
    let through: SnapshotVersion

    func contains(_ time: SnapshotVersion) -> Bool { after < time && time <= through }
  }

  let number: UInt64
  let key: TokenKey
  let store: RandomID
  var floor: SnapshotVersion?
  private(set) var lost: [Lost] = []

  init(number: UInt64, key: TokenKey, store: RandomID) {
    self.number = number
    self.key = key
    self.store = store
  }

  /// The life that follows this one, without its floor. The key stays, so that tokens of earlier lives can
  /// be recognised.
  func next(number: UInt64, store: RandomID, lost: Lost) -> LifeRecord {
    var next = LifeRecord(number: number, key: key, store: store)
    next.lost = Array((self.lost + [lost]).suffix(Self.lostMax))
    return next
  }

  // MARK: The document

  /// Returns nil if the document has another form.
  init?(_ document: StoredDocument) {
    guard case .integer(let number)? = document.fields["n"], case .bytes(let key)? = document.fields["k"],
      let key = TokenKey(key), case .bytes(let store)? = document.fields["s"],
      let store = Self.storeID(store)
    else { return nil }
    self.init(number: UInt64(bitPattern: number), key: key, store: store)
    if case .timestamp(let time)? = document.fields["f"] { floor = SnapshotVersion(time) }
    guard case .array(let values)? = document.fields["l"] else { return }
    let times = values.map { value in
      if case .integer(let time) = value { SnapshotVersion(microseconds: time) } else { SnapshotVersion.none }
    }
    for place in stride(from: 0, to: times.count - 1, by: 2) {
      lost.append(Lost(after: times[place], through: times[place + 1]))
    }
  }

  private static func storeID(_ bytes: [UInt8]) -> RandomID? {
    var reader = ByteReader(bytes.rawSpan)
    guard let id = reader.randomID(), reader.bytesLeft == 0 else { return nil }
    return id
  }

  /// All fields but the floor.
  var fields: StoredMap {
    var id: [UInt8] = []
    id.append(store)
    var fields = StoredMap([
      ("k", .bytes(key.bytes)), ("n", .integer(Int64(bitPattern: number))), ("s", .bytes(id)),
    ])
    if !lost.isEmpty {
      let times = lost.flatMap { [$0.after, $0.through] }
      fields["l"] = .array(times.map { .integer($0.microseconds) })
    }
    return fields
  }
}
