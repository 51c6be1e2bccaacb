// The modules that FirebaseCore exports: Foundation, as in the original.

@_exported public import Foundation
