// Pinned queries: targets that stay in the cache without a listener.

internal import DocumentStore

extension LocalStore {
  /// The pins of the current user, in the order in which they were created.
  package var currentPins: [StoredPin] { storedPins[user] ?? [] }

  /// Returns the current user's pin of a query.
  func pin(of query: StructuredQuery) -> StoredPin? {
    guard !currentPins.isEmpty else { return nil }
    let text = query.targetID
    return currentPins.first { $0.text == text }
  }

  /// The targets of the current user's pins within their budgets. Their documents are not evicted. A user who
  /// never returns would otherwise hold documents for ever.
  var heldTargets: Set<TargetID> {
    Set(currentPins.filter { !$0.isOverBudget }.compactMap { idsByText[$0.text] })
  }

  /// Pins a query for the current user, or changes the budget of its pin. A failure has no effect.
  func putPin(_ query: StructuredQuery, _ budget: PinLimits) throws(DocumentStoreError) {
    guard QueryCodec.decode(QueryCodec.encode(query))?.targetID == query.targetID else {
      throw .invalidArgument("The query compares a field with a value that no document can have.")
    }
    let known = pin(of: query)
    let number = known?.number ?? (currentPins.last?.number ?? 0) + 1
    try put(StoredPin(query, of: user, number: number, budget: budget))
  }

  /// Writes a new or changed pin of the current user. A failure has no effect.
  func put(_ pin: StoredPin) throws(DocumentStoreError) {
    var transaction = begin()
    transaction.put(pin.fields, at: CacheKeys.pin(pin.number, of: user))
    try finish(&transaction, durability: nil)
    var pins = currentPins
    if let place = pins.firstIndex(where: { $0.number == pin.number }) {
      pins[place] = pin
    } else {
      pins.append(pin)
    }
    storedPins[user] = pins
  }

  /// Removes a pin of the current user. A failure has no effect.
  func remove(_ pin: StoredPin) throws(DocumentStoreError) {
    var transaction = begin()
    transaction.remove(CacheKeys.pin(pin.number, of: user))
    try finish(&transaction, durability: nil)
    let rest = currentPins.filter { $0.number != pin.number }
    storedPins[user] = rest.isEmpty ? nil : rest
  }

  /// Releases the documents in the views of a target, but not the target.
  func releaseViews(of id: TargetID) throws(DocumentStoreError) {
    let removed = Array(pins[id] ?? [])
    try note([ViewReport(id: id, added: [], removed: removed, isFromCache: true)])
    pins[id] = nil
  }

  /// Returns the approximate size of a document of the remote.
  func byteCount(of path: DocumentPath) throws(DocumentStoreError) -> Int {
    try remoteDocument(path).fields.map { $0.recordBytesMax + path.description.utf8.count } ?? 0
  }

  func loadPins() throws(DocumentStoreError) {
    var loaded: [String?: [StoredPin]] = [:]
    for stored in try store.documents(StructuredQuery(.collection(CacheKeys.pins))) {
      let parts = stored.path.id.split(separator: ":").map(String.init)
      guard parts.count == 2, let user = CacheKeys.user(queueName: parts[0]), let number = Int64(parts[1]),
        let pin = StoredPin(stored.fields, of: user, number: number)
      else { throw RemoteNote.damaged(stored.path, store) }
      loaded[user, default: []].append(pin)
    }
    storedPins = loaded.mapValues { $0.sorted { $0.number < $1.number } }
  }
}
