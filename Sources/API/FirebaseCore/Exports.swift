// The module that FirebaseCore re-exports: Foundation, which the original FirebaseCore re-exports too.

@_exported public import Foundation
