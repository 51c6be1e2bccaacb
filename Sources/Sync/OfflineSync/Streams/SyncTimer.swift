// What has to happen after some time.

package enum SyncTimer: Sendable, Hashable, CaseIterable {
  case watchBackoff, writeBackoff, watchIdle, writeIdle, onlineState, collection, readSilence
}
