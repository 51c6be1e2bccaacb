// The module of files and their metadata. So far it brings only what it will stand on.

@_exported public import FirebaseCore
@_exported public import Foundation
