// The modules that `import FirebaseFirestore` re-exports, as existing code expects.

@_exported public import FirebaseCore
@_exported public import Foundation
