// The metrics of stores, from their health, which is collected without waiting for a sync.

internal import ByteStore
internal import DocumentStore
internal import FirestoreWire

extension MetricsText {
  mutating func addStores(_ databases: [OpenDatabase]) {
    let stores = databases.map { ($0.name.text, $0.store, $0.store.health) }
    let single = stores.map { (name: $0.0, store: $0.1, health: $0.2) }
    add("dugout_databases_open", "gauge", help: "Open databases.", values: [([], UInt64(single.count))])
    func values(_ value: (StoreHealth) -> UInt64) -> [([(String, String)], UInt64)] {
      single.map { ([("database", $0.name)], value($0.health)) }
    }
    add(
      "dugout_store_writable", "gauge", help: "Whether a store accepts writes.",
      values: values { Readiness.reason($0) == nil ? 1 : 0 })
    add(
      "dugout_store_wal_bytes", "gauge", help: "Bytes of the WAL that an open would replay.",
      values: values(\.walBytes))
    add(
      "dugout_store_memtable_bytes", "gauge", help: "Bytes of the memtable.",
      values: values { UInt64(clamping: $0.memtableBytes) })
    add(
      "dugout_store_segment_bytes", "gauge", help: "Bytes of segments.", values: values(\.segments.dataBytes))
    add(
      "dugout_store_live_bytes", "gauge", help: "Bytes of segments that documents use.",
      values: values(\.segments.liveBytes))
    add(
      "dugout_store_flushes_total", "counter", help: "Flushes that succeeded.",
      values: values(\.flushes.succeeded))
    add(
      "dugout_store_flush_failures_total", "counter", help: "Flushes that failed.",
      values: values(\.flushes.failed))
    add(
      "dugout_store_commits_total", "counter", help: "Commits since the store was opened.",
      values: values(\.latencies.count))
    add(
      "dugout_store_commits_waiting", "gauge", help: "Commits that wait for a sync.",
      values: values { UInt64(clamping: $0.commitsWaiting) })
    add(
      "dugout_store_snapshots_open", "gauge",
      help: "Open snapshots, one for each open transaction and long read.",
      values: values { UInt64(clamping: $0.snapshots.count) })
    add(
      "dugout_store_listeners", "gauge", help: "Queries that listeners follow.",
      values: single.map { ([("database", $0.name)], UInt64(clamping: $0.store.listenerCount)) })
  }

  private mutating func add(
    _ name: String, _ type: String, help: String, values: [([(String, String)], UInt64)]
  ) {
    guard !values.isEmpty else { return }
    family(name, type, help: help)
    for (labels, value) in values { sample(name, labels, value: value) }
  }
}
