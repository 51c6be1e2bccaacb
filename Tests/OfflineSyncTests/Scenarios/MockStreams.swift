// The remote of a scenario. It opens streams at once, sends only the messages that the scenario specifies,
// and records the client's requests.

import OfflineSync

struct MockStreams {
  private(set) var isWatchOpen = false
  private(set) var isWriteOpen = false
  private var isHandshakeDone = false
  var targets: [TargetID: WatchTarget] = [:]
  private(set) var sent: [RemoteWrite] = []
  private(set) var watchRequests = 0
  private(set) var writeRequests = 0

  /// Returns the streams' answers to an effect; nil if the effect does not concern streams.
  mutating func perform(_ effect: SyncEffect) -> [SyncEvent]? {
    switch effect {
    case .openWatch:
      isWatchOpen = true
      targets = [:]
      return [.watchOpened]
    case .watch(let target):
      watchRequests += 1
      targets[target.id] = target
    case .unwatch(let id):
      watchRequests += 1
      targets[id] = nil
    case .closeWatch: closeWatch()
    case .openWrite:
      isWriteOpen = true
      sent = []
      return [.writeOpened]
    case .handshake:
      writeRequests += 1
      isHandshakeDone = true
      return [.handshakeComplete(token: Array("token".utf8))]
    case .send(let write):
      writeRequests += 1
      sent.append(write)
    case .closeWrite:
      if isHandshakeDone { writeRequests += 1 }
      closeWrite()
    // Backoff takes no time here.
    case .startTimer(.watchBackoff, _): return [.timer(.watchBackoff)]
    case .startTimer(.writeBackoff, _): return [.timer(.writeBackoff)]
    default: return nil
    }
    return []
  }

  mutating func closeWatch() {
    isWatchOpen = false
    targets = [:]
  }

  mutating func closeWrite() {
    isWriteOpen = false
    isHandshakeDone = false
    sent = []
  }

  mutating func takeSent() -> RemoteWrite? { sent.isEmpty ? nil : sent.removeFirst() }
}
