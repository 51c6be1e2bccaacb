// State that modules above this one keep for as long as a store is open.

import ByteStore

/// The state of a module above this one. Each open store has one object of each type.
package protocol StoreAttachment: AnyObject, Sendable {
  init()

  /// Called when a backup found a damaged blob, without knowing which one.
  func didFindDamagedBlobs()

  /// Called when the store closes, after its listeners have ended.
  func willClose()
}

extension StoreAttachment {
  package func willClose() {}
}

/// Usable from any thread.
package final class StoreAttachments: Sendable {
  private let objects = Locked<[ObjectIdentifier: any StoreAttachment]>([:])

  /// The attachment of this type, created on first use.
  package func attachment<Attachment: StoreAttachment>(_ type: Attachment.Type) -> Attachment {
    objects.withLock { objects in
      if let found = objects[ObjectIdentifier(type)] as? Attachment { return found }
      let created = Attachment()
      objects[ObjectIdentifier(type)] = created
      return created
    }
  }

  private var all: [any StoreAttachment] { objects.withLock { Array($0.values) } }

  func didFindDamagedBlobs() { for attachment in all { attachment.didFindDamagedBlobs() } }

  func willClose() { for attachment in all { attachment.willClose() } }
}
