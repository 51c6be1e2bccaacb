// Re-exports the modules that existing code expects from `import FirebaseStorage`.

@_exported public import FirebaseCore
@_exported public import Foundation

@_exported public import protocol ObjectSync.BlobRemote
@_exported public import enum ObjectSync.BlobRemoteError
// The types of remotes for buckets. They were formerly declared in OfflineSync.
@_exported public import class ObjectSync.LoopbackBlobRemote
@_exported public import struct ObjectSync.RemoteListing
@_exported public import struct ObjectSync.RemoteObject
