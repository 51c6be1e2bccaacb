// What code that imports FirebaseCore sees without asking: Foundation, as with the original.

@_exported public import Foundation
