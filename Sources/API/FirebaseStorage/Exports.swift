// The modules that `import FirebaseStorage` re-exports, as existing code expects.

@_exported public import FirebaseCore
@_exported public import Foundation

@_exported public import protocol ObjectSync.BlobRemote
@_exported public import enum ObjectSync.BlobRemoteError
// Remotes for buckets: these types were declared in OfflineSync once.
@_exported public import class ObjectSync.LoopbackBlobRemote
@_exported public import struct ObjectSync.RemoteListing
@_exported public import struct ObjectSync.RemoteObject
