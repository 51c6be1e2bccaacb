// The timers of a sync client.

package enum SyncTimer: Sendable, Hashable, CaseIterable {
  case watchBackoff, writeBackoff, watchIdle, writeIdle, onlineState, collection, readSilence, storage
}
