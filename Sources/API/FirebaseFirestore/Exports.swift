// The modules that `import FirebaseFirestore` re-exports, as existing code expects, and the types of the
// engine that the settings use.

@_exported public import FirebaseCore
@_exported public import Foundation

@_exported public import struct ByteStore.InstrumentEvent
@_exported public import struct ByteStore.InstrumentName
@_exported public import protocol ByteStore.Instruments
@_exported public import protocol OfflineSync.NetworkMonitor
@_exported public import struct OfflineSync.NetworkPath
@_exported public import enum OfflineSync.NetworkStatus
@_exported public import class OfflineSync.ReportedNetworkMonitor
